// Time codes, as in export/timecode.py.

const two = (n) => String(n).padStart(2, "0");

// The frame whose start is nearest to a time; rate: [numerator, denominator].
export function frameAt(seconds, [over, under]) {
  return Math.floor((seconds * over) / under + 0.5);
}

// HH:MM:SS:FF of a frame; drop-frame codes skip numbers at 29.97 and 59.94 frames per second.
function codeOf(frame, nominal, drop) {
  let number = frame;
  if (drop) {
    const skipped = Math.floor(nominal / 15);
    const ten = 600 * nominal - 9 * skipped;
    const rest = frame % ten;
    const minutes = Math.floor(Math.max(0, rest - skipped) / (60 * nominal - skipped));
    number += skipped * (9 * Math.floor(frame / ten) + minutes);
  }
  const seconds = Math.floor(number / nominal);
  const parts = [Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60, seconds % 60].map(two);
  return `${parts.join(":")}${drop ? ";" : ":"}${two(number % nominal)}`;
}

// The time code of a time; in milliseconds if the rate is not known (null).
export function timecode(seconds, rate, drop = false) {
  const time = Math.max(0, seconds);
  if (rate) return codeOf(frameAt(time, rate), Math.max(1, Math.round(rate[0] / rate[1])), drop);
  const thousandths = Math.round(time * 1000);
  const whole = Math.floor(thousandths / 1000);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60].map(two);
  return `${parts.join(":")}.${String(thousandths % 1000).padStart(3, "0")}`;
}
