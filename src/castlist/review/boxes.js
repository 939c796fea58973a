// The boxes of faces at a time. They are loaded by the minute, around the time that is shown.
import { get } from "./api.js";
import { complain } from "./page.js";
import { boxAt } from "./player.js";

const WINDOW = 60; // seconds per request
const AHEAD = 15; // seconds before the end of a window at which the next one is loaded
const EARLY = 0.01; // seconds before its start at which a face is drawn, as times are rounded
const KEPT = 30; // windows in memory

// changed: called when boxes for the time that was asked last have arrived.
export function makeBoxes(changed) {
  let video = -1;
  let last = -1; // of the cast whose boxes are kept
  let windows = new Map(); // number → tracks
  let wanted = []; // windows to load, the next first
  let loading = false;

  async function load() {
    if (loading) return;
    loading = true;
    try {
      while (wanted.length) {
        const [number, held] = [wanted.shift(), windows];
        const found = await get(`api/boxes/${video}?start=${number * WINDOW}&end=${(number + 1) * WINDOW}`);
        if (held !== windows) continue; // of another video, or of an older cast
        windows.set(number, found.tracks);
        if (windows.size > KEPT) windows.delete(windows.keys().next().value);
        changed();
      }
    } catch (error) {
      wanted = [];
      complain(error);
    } finally {
      loading = false;
    }
  }

  return {
    open(number, version) {
      if (number === video && version === last) return;
      [video, last] = [number, version];
      windows = new Map();
      wanted = [];
    },
    // The faces at a time: [{ character, box: [x, y, w, h] }]; loads what is missing.
    at(time) {
      if (video < 0) return [];
      const here = Math.max(0, Math.floor(time / WINDOW));
      const next = Math.floor((time + AHEAD) / WINDOW);
      wanted = [...new Set([here, next])].filter((number) => !windows.has(number));
      if (wanted.length) load();
      return (windows.get(here) ?? []).flatMap(({ character, start, end, boxes }) => {
        const box = time < start - EARLY ? null : boxAt(boxes, end, time);
        return box ? [{ character, box }] : [];
      });
    },
  };
}
