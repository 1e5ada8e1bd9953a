// The options of the static CPU policy.

export interface CpuPolicyOptions {
  /** A container gets whole cores, or is rejected. */
  readonly fullCores: boolean;
  /** CPUs come evenly from as few NUMA nodes as possible, instead of filling one after the other. */
  readonly acrossNuma: boolean;
  /** CPUs of one socket are as good as those of one NUMA node. */
  readonly alignBySocket: boolean;
  /** CPUs come from different cores, if possible. */
  readonly acrossCores: boolean;
  /** No container runs on reserved CPUs. */
  readonly strictReservation: boolean;
  readonly alignByUncore: boolean;
}

export class PolicyOptionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PolicyOptionError';
  }
}

const FULL_CORES = 'full-pcpus-only';
const ACROSS_NUMA = 'distribute-cpus-across-numa';
const BY_SOCKET = 'align-by-socket';
const ACROSS_CORES = 'distribute-cpus-across-cores';
const STRICT = 'strict-cpu-reservation';
const BY_UNCORE = 'prefer-align-cpus-by-uncorecache';

const NAMES: ReadonlyMap<string, keyof CpuPolicyOptions> = new Map([
  [FULL_CORES, 'fullCores'],
  [ACROSS_NUMA, 'acrossNuma'],
  [BY_SOCKET, 'alignBySocket'],
  [ACROSS_CORES, 'acrossCores'],
  [STRICT, 'strictReservation'],
  [BY_UNCORE, 'alignByUncore'],
]);

/** Options whose feature gate is off by default. */
const ALPHA: ReadonlySet<string> = new Set([BY_SOCKET, ACROSS_CORES]);

const EXCLUSIVE = [
  [FULL_CORES, ACROSS_CORES],
  [ACROSS_NUMA, ACROSS_CORES],
  [BY_UNCORE, ACROSS_CORES],
  [BY_UNCORE, ACROSS_NUMA],
] as const;

/** `alphaOptions`: the feature gate CPUManagerPolicyAlphaOptions is on. Throws a PolicyOptionError. */
export function parseCpuPolicyOptions(
  given: Readonly<Record<string, string>>,
  alphaOptions: boolean,
): CpuPolicyOptions {
  const options = {
    fullCores: false,
    acrossNuma: false,
    alignBySocket: false,
    acrossCores: false,
    strictReservation: false,
    alignByUncore: false,
  };
  for (const [name, value] of Object.entries(given)) {
    const key = NAMES.get(name);
    if (key === undefined)
      throw new PolicyOptionError(`unknown CPU Manager Policy option: "${name}"`);
    if (ALPHA.has(name) && !alphaOptions) {
      throw new PolicyOptionError(
        `CPU Manager Policy Alpha-level Options not enabled, but option "${name}" provided`,
      );
    }
    options[key] = parseBoolean(name, value);
  }
  for (const [one, other] of EXCLUSIVE)
    if (options[NAMES.get(one)!] && options[NAMES.get(other)!]) {
      throw new PolicyOptionError(
        `static policy options ${one} and ${other} can not be used at the same time`,
      );
    }
  return options;
}

/** Parses what Go's strconv.ParseBool accepts. */
export function parseBoolean(name: string, value: string): boolean {
  if (['1', 't', 'T', 'TRUE', 'true', 'True'].includes(value)) return true;
  if (['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(value)) return false;
  throw new PolicyOptionError(
    `bad value for option "${name}": strconv.ParseBool: parsing "${value}": invalid syntax`,
  );
}
