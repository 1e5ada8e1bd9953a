// Quantities of Kubernetes as numbers, and numbers as short texts.

const FACTORS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Returns the number; NaN if the text is no quantity. */
export function parseQuantity(text: string): number {
  const match = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([numkMGTPE]?|[KMGTPE]i)$/.exec(text);
  if (match === null) return Number.NaN;
  return Number(match[1]) * FACTORS[match[2]!]!;
}

/** Returns bytes as '1.5 GiB'. */
export function bytesText(bytes: number): string {
  if (Number.isNaN(bytes)) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** Returns cores as '250m' or '1.5'. */
export function coresText(cores: number): string {
  if (Number.isNaN(cores)) return '–';
  return cores < 1 ? `${Math.round(cores * 1000)}m` : cores.toFixed(cores < 10 ? 2 : 1);
}
