// Times and numbers as text, as in format.py.

export function clock(seconds) {
  const whole = Math.floor(seconds);
  const two = (n) => String(n).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

export function lasting(seconds) {
  return seconds > 0 && seconds < 0.5 ? "<0:01" : clock(seconds + 0.5);
}

export function between(start, end) {
  const [first, last] = [clock(start), clock(end)];
  return first === last ? first : `${first}–${last}`;
}

export function percent(share) {
  if (share > 0 && share < 0.0005) return "<0.1%";
  return `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)}%`;
}

export function sureness({ sure, small }) {
  if (small) return "too small to tell";
  if (sure >= 0.93) return "sure";
  return sure >= 0.8 ? "fairly sure" : "unsure";
}

export function count(n, what) {
  return `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
}

export function sentence(text) {
  if (text.startsWith("castlist")) return text; // the name is lowercase
  return text ? text[0].toUpperCase() + text.slice(1) : "";
}

export function when(at) {
  const moment = new Date(at * 1000);
  const today = moment.toDateString() === new Date().toDateString();
  const time = moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return today ? time : `${moment.toLocaleDateString()} ${time}`;
}

// A name as the server stores it.
export function oneLine(name) {
  return name.normalize("NFC").split(/\s+/).filter(Boolean).join(" ");
}
