// The policy of a namespace: three modes, each with a level of the Pod Security Standards and the
// version of Kubernetes that defines it. It is read from the namespace's labels; the server's
// defaults fill the gaps.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';

/** The levels from the least to the most strict. */
export const LEVELS = ['privileged', 'baseline', 'restricted'] as const;
export type Level = (typeof LEVELS)[number];

/** 'latest', or 'v1.' and a minor version. */
export type Version = 'latest' | `v1.${string}`;

export interface LevelVersion {
  readonly level: Level;
  readonly version: Version;
}

/**
 * The modes. enforce: pods are rejected. audit: the audit log gets a record. warn: the user gets a
 * warning.
 */
export const MODES = ['enforce', 'audit', 'warn'] as const;
export type Mode = (typeof MODES)[number];
export type Policy = Readonly<Record<Mode, LevelVersion>>;

export type Labels = Readonly<Record<string, string>>;

/**
 * The policy of a namespace's labels. An invalid level means `restricted` for enforce, and
 * `privileged` for the other modes.
 */
export interface LabelledPolicy {
  readonly policy: Policy;
  /** The errors in the labels. */
  readonly errors: FieldErrorList;
}

const PREFIX = 'pod-security.kubernetes.io/';
export const levelLabel = (mode: Mode): string => PREFIX + mode;
export const versionLabel = (mode: Mode): string => `${PREFIX}${mode}-version`;

const LABELS_PATH = field.path('metadata', 'labels');
const VERSION = /^v1\.(0|[1-9][0-9]*)$/;
const MAX_MINOR = 2n ** 63n - 1n;

const PRIVILEGED: LevelVersion = { level: 'privileged', version: 'latest' };
export const PRIVILEGED_POLICY: Policy = {
  enforce: PRIVILEGED,
  audit: PRIVILEGED,
  warn: PRIVILEGED,
};

/** Returns text such as 'restricted:v1.25'. */
export function levelVersionText({ level, version }: LevelVersion): string {
  return `${level}:${version}`;
}

/** Returns the minor version; Infinity for 'latest'. */
export function minorOf(version: Version): number {
  return version === 'latest' ? Infinity : Number(version.slice('v1.'.length));
}

/** Returns a negative number if `a` is less strict than `b`, a positive one if it is stricter. */
export function compareLevels(a: Level, b: Level): number {
  return LEVELS.indexOf(a) - LEVELS.indexOf(b);
}

export function sameLevelVersion(a: LevelVersion, b: LevelVersion): boolean {
  return a.level === b.level && a.version === b.version;
}

export function isFullyPrivileged({ enforce, audit, warn }: Policy): boolean {
  return (
    enforce.level === 'privileged' && audit.level === 'privileged' && warn.level === 'privileged'
  );
}

/**
 * Reports whether two policies have the same effect on pods: privileged is the same in all
 * versions.
 */
export function equivalentPolicies(a: Policy, b: Policy): boolean {
  return MODES.every((mode) => {
    const bothPrivileged = a[mode].level === 'privileged' && b[mode].level === 'privileged';
    return bothPrivileged || sameLevelVersion(a[mode], b[mode]);
  });
}

export function policyOf(labels: Labels, defaults: Policy): LabelledPolicy {
  const errors: FieldErrorList = [];
  const enforce = labelled('enforce', labels, defaults.enforce, errors);
  const audit = labelled('audit', labels, defaults.audit, errors);
  const warn = labelled('warn', labels, defaults.warn, errors);
  return { policy: { enforce, audit, warn: atLeastWarned(labels, enforce, warn) }, errors };
}

function labelled(
  mode: Mode,
  labels: Labels,
  byDefault: LevelVersion,
  errors: FieldErrorList,
): LevelVersion {
  let { level, version } = byDefault;
  const levelText = labels[levelLabel(mode)];
  if (levelText !== undefined) {
    const validLevel = LEVELS.find((each) => each === levelText);
    // An invalid level rejects pods if it is to be enforced, but causes no warnings.
    level = validLevel ?? (mode === 'enforce' ? 'restricted' : 'privileged');
    if (validLevel === undefined)
      errors.push(invalid(levelLabel(mode), levelText, `must be one of ${LEVELS.join(', ')}`));
  }
  const versionText = labels[versionLabel(mode)];
  if (versionText !== undefined) {
    version = isVersion(versionText) ? versionText : 'latest';
    if (!isVersion(versionText))
      errors.push(invalid(versionLabel(mode), versionText, 'must be "latest" or "v1.x"'));
  }
  return { level, version };
}

export function isVersion(text: string): text is Version {
  return text === 'latest' || BigInt(VERSION.exec(text)?.[1] ?? MAX_MINOR + 1n) <= MAX_MINOR;
}

function invalid(label: string, value: string, detail: string): field.FieldError {
  return field.invalid(LABELS_PATH.key(label), value, detail);
}

/**
 * Returns the warn level. A namespace that enforces a stricter level and has no warn label also
 * warns at that level, so that users learn about pod templates whose pods would be rejected.
 */
function atLeastWarned(labels: Labels, enforce: LevelVersion, warn: LevelVersion): LevelVersion {
  const enforcesWithoutWarnLabel =
    labels[levelLabel('enforce')] === enforce.level && labels[levelLabel('warn')] === undefined;
  if (!enforcesWithoutWarnLabel || compareLevels(enforce.level, warn.level) <= 0) return warn;
  return {
    level: enforce.level,
    version: labels[versionLabel('warn')] === undefined ? enforce.version : warn.version,
  };
}
