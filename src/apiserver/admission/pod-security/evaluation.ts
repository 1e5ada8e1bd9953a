// Evaluates a pod against a level of the Pod Security Standards, in the definition of a version of
// Kubernetes.

import type { Control, PodToCheck, Violation } from './control.ts';
import * as capabilities from './controls/capabilities.ts';
import * as host from './controls/host.ts';
import * as privileges from './controls/privileges.ts';
import * as profiles from './controls/profiles.ts';
import * as volumesAndSysctls from './controls/volumes-and-sysctls.ts';
import { type LevelVersion, minorOf } from './policy.ts';

type Check = Control['versions'][number]['check'];

/** All controls. The modules of controls export nothing else. */
export const CONTROLS: readonly Control[] = [
  capabilities,
  host,
  privileges,
  profiles,
  volumesAndSysctls,
].flatMap((module) => Object.values(module));

/** The last minor version in which a definition has changed. */
export const NEWEST_MINOR = Math.max(
  ...CONTROLS.flatMap(({ versions }) => versions.map(({ since }) => since)),
);

const checks = new Map<string, readonly Check[]>();

/** Returns the pod's violations; an empty list if it complies. */
export function violationsOf(
  pod: PodToCheck,
  { level, version }: LevelVersion,
): readonly Violation[] {
  if (level === 'privileged') return [];
  return checksOf(level, Math.min(minorOf(version), NEWEST_MINOR)).flatMap(
    (check) => check(pod) ?? [],
  );
}

function checksOf(level: Control['level'], minor: number): readonly Check[] {
  const key = `${level}:${minor}`;
  let cached = checks.get(key);
  if (cached === undefined) {
    cached = controlsOf(level, minor).map((control) => checkAt(control, minor)!);
    checks.set(key, cached);
  }
  return cached;
}

/** Returns baseline's controls, then restricted's, each in the order of their names. */
function controlsOf(level: Control['level'], minor: number): readonly Control[] {
  const there = CONTROLS.filter((control) => checkAt(control, minor) !== undefined);
  const ofLevel = (wanted: Control['level']) =>
    there.filter((control) => control.level === wanted).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  if (level === 'baseline') return ofLevel('baseline');
  const restricted = ofLevel('restricted');
  const replaced = new Set(restricted.map(({ replaces }) => replaces));
  return [...ofLevel('baseline').filter(({ id }) => !replaced.has(id)), ...restricted];
}

function checkAt({ versions }: Control, minor: number): Check | undefined {
  return versions.findLast(({ since }) => since <= minor)?.check;
}

/** Returns the reasons, such as 'hostPort, privileged'. */
export function reasonsText(violations: readonly Violation[]): string {
  return violations.map(({ reason }) => reason).join(', ');
}

/**
 * Returns reasons with details, such as 'hostPort (container "c" uses hostPort 80), privileged
 * (…)'.
 */
export function detailsText(violations: readonly Violation[]): string {
  return violations.map(({ reason, detail }) => `${reason} (${detail})`).join(', ');
}
