// Pressure stall information (PSI): how long tasks have waited for a resource. Only cgroups v2 have it.

/** In nanoseconds and percent. The names are those of /stats/summary. */
export interface PressureData {
  readonly total: number;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

export interface PressureStall {
  /** The time in which all tasks waited. */
  readonly full: PressureData;
  /** The time in which some task waited. */
  readonly some: PressureData;
}

const NONE: PressureData = { total: 0, avg10: 0, avg60: 0, avg300: 0 };
const LINE = /^(some|full) avg10=([\d.]+) avg60=([\d.]+) avg300=([\d.]+) total=(\d+)$/gm;

/** Parses a file of the kernel; undefined if it has no line that can be understood. */
export function parsePressure(text: string): PressureStall | undefined {
  const lines = [...text.matchAll(LINE)].map(([, kind, avg10, avg60, avg300, microseconds]) => [
    kind,
    {
      total: Number(microseconds) * 1000,
      avg10: Number(avg10),
      avg60: Number(avg60),
      avg300: Number(avg300),
    },
  ]);
  // The kernel has no line 'full' for the CPU of the whole machine.
  return lines.length === 0
    ? undefined
    : { full: NONE, some: NONE, ...(Object.fromEntries(lines) as Partial<PressureStall>) };
}

/** The runtime's form of the same. */
interface RuntimePressure {
  readonly Full?: RuntimeData;
  readonly Some?: RuntimeData;
}

interface RuntimeData {
  readonly Total: number;
  readonly Avg10: number;
  readonly Avg60: number;
  readonly Avg300: number;
}

export function pressureOf(psi: RuntimePressure | undefined): PressureStall | undefined {
  if (psi === undefined) return undefined;
  const data = (one: RuntimeData | undefined): PressureData =>
    one === undefined
      ? NONE
      : { total: one.Total, avg10: one.Avg10, avg60: one.Avg60, avg300: one.Avg300 };
  return { full: data(psi.Full), some: data(psi.Some) };
}
