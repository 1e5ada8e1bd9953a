// Time for all components. The files in clock/ alone read the system clock and set timers, so a whole
// cluster can run on a VirtualClock: a test waits a simulated day in milliseconds.

export {
  ANYTHING,
  type Background,
  type Clock,
  DISCOVERY,
  pause,
  type PauseOptions,
  type PollOptions,
  setPoll,
  stir,
  type Timer,
} from './clock/interface.ts';
export { systemClock } from './clock/system-clock.ts';
export { VirtualClock, type VirtualClockConfig } from './clock/virtual-clock.ts';
