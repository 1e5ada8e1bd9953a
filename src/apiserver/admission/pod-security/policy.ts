// Which of the Pod Security Standards a namespace asks for: three modes, each with a level and the version of Kubernetes whose
// definition of it counts. They stand in the namespace's labels; what these leave out is the server's default.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';

/** From the loosest to the strictest. */
export const LEVELS = ['privileged', 'baseline', 'restricted'] as const;
export type Level = (typeof LEVELS)[number];

/** 'latest', or 'v1.' and a minor version. */
export type Version = 'latest' | `v1.${string}`;

export interface LevelVersion {
  readonly level: Level;
  readonly version: Version;
}

/** enforce: pods are refused. audit: told to the audit log. warn: told to whoever asks. */
export const MODES = ['enforce', 'audit', 'warn'] as const;
export type Mode = (typeof MODES)[number];
export type Policy = Readonly<Record<Mode, LevelVersion>>;

export type Labels = Readonly<Record<string, string>>;

/** What labels ask for. There always is a policy: a level that is none is `restricted` for enforce, and `privileged` otherwise. */
export interface LabelledPolicy {
  readonly policy: Policy;
  /** What is wrong with the labels. */
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

/** 'restricted:v1.25' */
export function levelVersionText({ level, version }: LevelVersion): string {
  return `${level}:${version}`;
}

/** Of 'latest': Infinity. */
export function minorOf(version: Version): number {
  return version === 'latest' ? Infinity : Number(version.slice('v1.'.length));
}

/** Negative if `a` is looser than `b`, positive if it is stricter. */
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

/** Whether pods cannot tell one from the other: privileged is the same in all versions. */
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
    const given = LEVELS.find((each) => each === levelText);
    // In doubt pods are refused, but nobody is bothered.
    level = given ?? (mode === 'enforce' ? 'restricted' : 'privileged');
    if (given === undefined)
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

function isVersion(text: string): text is Version {
  return text === 'latest' || BigInt(VERSION.exec(text)?.[1] ?? MAX_MINOR + 1n) <= MAX_MINOR;
}

function invalid(label: string, value: string, detail: string): field.FieldError {
  return field.invalid(LABELS_PATH.key(label), value, detail);
}

/** Who asks for a stricter level to be enforced and says nothing of warnings is warned, too: of templates of pods that it refuses. */
function atLeastWarned(labels: Labels, enforce: LevelVersion, warn: LevelVersion): LevelVersion {
  const asked =
    labels[levelLabel('enforce')] === enforce.level && labels[levelLabel('warn')] === undefined;
  if (!asked || compareLevels(enforce.level, warn.level) <= 0) return warn;
  return {
    level: enforce.level,
    version: labels[versionLabel('warn')] === undefined ? enforce.version : warn.version,
  };
}
