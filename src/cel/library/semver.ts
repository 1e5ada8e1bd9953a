// Semantic versions (semver.org, 2.0.0): semver('1.2.3'), isSemver, comparison, parts.

import { traversesFirst } from '../cost.ts';
import { global, member, type Library } from '../declarations.ts';
import { evaluationError } from '../errors.ts';
import { compareText } from '../text.ts';
import { BOOL, INT, opaque, STRING, typeOf, type Type } from '../types.ts';
import { normalizeInt, OpaqueValue, TypeValue } from '../values.ts';

export const SEMVER = opaque('kubernetes.Semver');

type Identifier = string | bigint;

export class SemverValue extends OpaqueValue {
  readonly major: bigint;
  readonly minor: bigint;
  readonly patch: bigint;
  readonly #prerelease: readonly Identifier[];

  constructor(major: bigint, minor: bigint, patch: bigint, prerelease: readonly Identifier[]) {
    super();
    this.major = major;
    this.minor = minor;
    this.patch = patch;
    this.#prerelease = prerelease;
  }

  get type(): Type {
    return SEMVER;
  }

  /** Build metadata does not count. */
  equals(other: SemverValue): boolean {
    return this.compare(other) === 0;
  }

  compare(other: SemverValue): -1 | 0 | 1 {
    for (const part of ['major', 'minor', 'patch'] as const) {
      if (this[part] !== other[part]) return this[part] < other[part] ? -1 : 1;
    }
    const [mine, its] = [this.#prerelease, other.#prerelease];
    // A pre-release is less than its release.
    if (mine.length === 0 || its.length === 0)
      return mine.length === its.length ? 0 : mine.length === 0 ? 1 : -1;
    for (let index = 0; index < Math.min(mine.length, its.length); index++) {
      const order = compareIdentifiers(mine[index]!, its[index]!);
      if (order !== 0) return order;
    }
    return mine.length === its.length ? 0 : mine.length < its.length ? -1 : 1;
  }
}

/** Compares identifiers. Numbers are less than words. */
function compareIdentifiers(a: Identifier, b: Identifier): -1 | 0 | 1 {
  if (typeof a === 'string') return typeof b === 'string' ? compareText(a, b) : 1;
  if (typeof b === 'string') return -1;
  return a === b ? 0 : a < b ? -1 : 1;
}

const NUMBER = '(0|[1-9][0-9]*)';
const IDENTIFIERS = '[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*';
const VERSION = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-(${IDENTIFIERS}))?(?:\\+${IDENTIFIERS})?$`,
);
const MAX_UINT = (1n << 64n) - 1n;

/** Parses a version; undefined if the text is none. Never throws. */
export function tryParseSemver(text: string): SemverValue | undefined {
  const parts = VERSION.exec(text);
  if (parts === null) return undefined;
  const [major, minor, patch] = parts.slice(1, 4).map(BigInt) as [bigint, bigint, bigint];
  if (major > MAX_UINT || minor > MAX_UINT || patch > MAX_UINT) return undefined;
  const prerelease: Identifier[] = [];
  for (const identifier of parts[4]?.split('.') ?? []) {
    const isNumber = /^[0-9]+$/.test(identifier);
    if (isNumber && identifier.length > 1 && identifier.startsWith('0')) return undefined;
    prerelease.push(isNumber ? BigInt(identifier) : identifier);
  }
  return new SemverValue(major, minor, patch, prerelease);
}

/**
 * Removes a leading v and leading zeros, and adds minor and patch; undefined if the text does not
 * allow it.
 */
function normalize(text: string): string | undefined {
  const all = text.replace(/^v/, '').split('.');
  const parts = [...all.slice(0, 2), ...(all.length > 2 ? [all.slice(2).join('.')] : [])].map(
    (part) => {
      if (part.length < 2) return part;
      const trimmed = part.replace(/^0+/, '');
      return /^[0-9]/.test(trimmed) ? trimmed : `0${trimmed}`;
    },
  );
  if (parts.length < 3 && /[+-]/.test(parts.at(-1)!)) return undefined;
  while (parts.length < 3) parts.push('0');
  return parts.join('.');
}

function read(text: string, normalized = false): SemverValue | undefined {
  const version = normalized ? normalize(text) : text;
  return version === undefined ? undefined : tryParseSemver(version);
}

function parse(text: string, normalized = false): SemverValue {
  const version = read(text, normalized);
  if (version !== undefined) return version;
  if (text === '') throw evaluationError('Version string empty');
  if (text.split('.').length < 3 && !normalized)
    throw evaluationError('No Major.Minor.Patch elements found');
  throw evaluationError(`Invalid semantic version ${JSON.stringify(text)}`);
}

const isSemver = (text: string, normalized = false): boolean =>
  read(text, normalized) !== undefined;

export const semverLibrary: Library = {
  name: 'kubernetes.Semver',
  constants: {
    'kubernetes.Semver': { type: typeOf(SEMVER), value: new TypeValue('kubernetes.Semver') },
  },
  functions: {
    semver: [
      global('string_to_semver', [STRING], SEMVER, parse, traversesFirst),
      global('string_bool_to_semver', [STRING, BOOL], SEMVER, parse, traversesFirst),
    ],
    isSemver: [
      global('is_semver_string', [STRING], BOOL, isSemver, traversesFirst),
      global('is_semver_string_bool', [STRING, BOOL], BOOL, isSemver, traversesFirst),
    ],
    isGreaterThan: [
      member(
        'semver_is_greater_than',
        [SEMVER, SEMVER],
        BOOL,
        (a: SemverValue, b: SemverValue) => a.compare(b) > 0,
      ),
    ],
    isLessThan: [
      member(
        'semver_is_less_than',
        [SEMVER, SEMVER],
        BOOL,
        (a: SemverValue, b: SemverValue) => a.compare(b) < 0,
      ),
    ],
    compareTo: [
      member('semver_compare_to', [SEMVER, SEMVER], INT, (a: SemverValue, b: SemverValue) =>
        a.compare(b),
      ),
    ],
    major: [member('semver_major', [SEMVER], INT, (it: SemverValue) => normalizeInt(it.major))],
    minor: [member('semver_minor', [SEMVER], INT, (it: SemverValue) => normalizeInt(it.minor))],
    patch: [member('semver_patch', [SEMVER], INT, (it: SemverValue) => normalizeInt(it.patch))],
  },
};
