// Loaded before a program, in each of its threads: its clocks run FAST_TIME times as fast, and its
// timers fire as much earlier. So a test of the built command waits seconds for what takes a minute.

const factor = Number(process.env.FAST_TIME);
const { now: wallNow } = Date;
const { setTimeout: platformTimeout, setInterval: platformInterval } = globalThis;
const monotonicNow = performance.now.bind(performance);
const begin = wallNow();

const fastNow = () => Math.floor(begin + (wallNow() - begin) * factor);

globalThis.Date = class extends Date {
  constructor(...args) {
    if (args.length === 0) super(fastNow());
    else super(...args);
  }

  static now() {
    return fastNow();
  }
};
performance.now = () => monotonicNow() * factor;
globalThis.setTimeout = (callback, delay = 0, ...args) =>
  platformTimeout(callback, delay / factor, ...args);
globalThis.setInterval = (callback, delay = 0, ...args) =>
  platformInterval(callback, delay / factor, ...args);
