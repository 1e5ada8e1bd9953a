// The signals by which a node observes that it runs short, and what each of them stands for.

/** The signals, with the names that thresholds have in the configuration. */
const SIGNALS = [
  'memory.available',
  'allocatableMemory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
  'pid.available',
] as const;

export type Signal = (typeof SIGNALS)[number];

/** The resource that is reclaimed for a signal, with the name that events and messages have. */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';

export type PressureCondition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

export function isSignal(name: string): name is Signal {
  return (SIGNALS as readonly string[]).includes(name);
}

export function resourceOf(signal: Signal): StarvedResource {
  if (isMemorySignal(signal)) return 'memory';
  if (signal === 'pid.available') return 'pids';
  return signal.endsWith('.inodesFree') ? 'inodes' : 'ephemeral-storage';
}

/** Returns the condition of the Node while a threshold of the signal is met. */
export function conditionOf(signal: Signal): PressureCondition {
  if (isMemorySignal(signal)) return 'MemoryPressure';
  return signal === 'pid.available' ? 'PIDPressure' : 'DiskPressure';
}

export function isMemorySignal(signal: Signal): boolean {
  return signal === 'memory.available' || signal === 'allocatableMemory.available';
}

export function isDiskSignal(signal: Signal): boolean {
  return conditionOf(signal) === 'DiskPressure';
}
