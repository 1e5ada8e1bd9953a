// The disposition of each flag of the upstream component that a command replaces.

/**
 * - implemented: the command reads it;
 * - ignored: it is accepted, and a warning says what is not applied;
 * - rejected: the command does not start. So are flags that restrict what is allowed, and others
 *   without which the result would be wrong.
 */
export type Disposition = 'implemented' | 'ignored' | 'rejected';

export interface UpstreamFlag {
  /** The name, with dashes. */
  readonly name: string;
  /** The type's name in pflag: 'bool', 'stringSlice', 'duration' … */
  readonly type: string;
  /**
   * The default in the form of the command line: '' for no value, commas between the items of a
   * list.
   */
  readonly default: string;
  readonly disposition: Disposition;
  /** Why it is not implemented, as the rest of a sentence; empty if it is. */
  readonly reason: string;
  /** Values that ask for what the command does in any case: they are accepted without a warning. */
  readonly accepted: readonly string[];
}

export function implemented(name: string, type: string, byDefault: string): UpstreamFlag {
  return { name, type, default: byDefault, disposition: 'implemented', reason: '', accepted: [] };
}

/** `accepted`: the default value, unless the command does something else. */
export function ignored(
  name: string,
  type: string,
  byDefault: string,
  reason: string,
  accepted: readonly string[] = [byDefault],
): UpstreamFlag {
  return { name, type, default: byDefault, disposition: 'ignored', reason, accepted };
}

/** `accepted`: as for `ignored`. */
export function rejected(
  name: string,
  type: string,
  byDefault: string,
  reason: string,
  accepted: readonly string[] = [byDefault],
): UpstreamFlag {
  return { name, type, default: byDefault, disposition: 'rejected', reason, accepted };
}

/** Returns the flags in the order of their names, in which `--help` of upstream lists them. */
export function byName(flags: readonly UpstreamFlag[]): readonly UpstreamFlag[] {
  return flags.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
