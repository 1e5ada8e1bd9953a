// A control: one requirement of a level of the Pod Security Standards. Requirements have changed
// over Kubernetes' versions, so a control has one check for each range of versions.

import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Level } from './policy.ts';

export type PodSpec = Immutable<core.PodSpec>;
export type Container =
  | PodSpec['containers'][number]
  | NonNullable<PodSpec['ephemeralContainers']>[number];

/** A pod, or a pod template. */
export interface PodToCheck {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: PodSpec;
}

export interface Violation {
  /** The kind of violation, the same for all pods, such as 'hostPort'. */
  readonly reason: string;
  /** The violation in this pod. */
  readonly detail: string;
}

/** Returns the violation; undefined if the pod complies. */
export type Check = (pod: PodToCheck) => Violation | undefined;

export interface Control {
  /**
   * The name of the control. Violations are listed in the order of names, those of baseline first.
   */
  readonly id: string;
  /** The lowest level with this control. Restricted includes baseline. */
  readonly level: Exclude<Level, 'privileged'>;
  /**
   * The checks with their first minor versions, in ascending order. Each is used until the next
   * one.
   */
  readonly versions: readonly { readonly since: number; readonly check: Check }[];
  /** The control of baseline that this one replaces, in versions for which it has a check. */
  readonly replaces?: string;
}

export function containersOf({
  initContainers = [],
  containers,
  ephemeralContainers = [],
}: PodSpec): readonly Container[] {
  return [...initContainers, ...containers, ...ephemeralContainers];
}

/** Returns the names of the containers that are wrong. */
export function containersWhere(
  { spec }: PodToCheck,
  isWrong: (container: Container) => boolean,
): readonly string[] {
  return containersOf(spec).flatMap((container) => (isWrong(container) ? [container.name] : []));
}

/** Returns 'container "a"' or 'containers "a", "b"'. */
export function named(what: string, names: readonly string[]): string {
  return `${plural(what, names.length)} ${quoted(names)}`;
}

/**
 * Returns the objects that set a field: 'pod', 'container "a"', 'pod and containers "a", "b"', or
 * ''.
 */
export function saidBy(pod: boolean, containers: readonly string[]): string {
  return [
    ...(pod ? ['pod'] : []),
    ...(containers.length > 0 ? [named('container', containers)] : []),
  ].join(' and ');
}

export function plural(word: string, count: number): string {
  return count === 1 ? word : `${word}s`;
}

/** Returns the texts in double quotes. Quotes in them are not escaped. */
export function quoted(texts: readonly string[]): string {
  return texts.map((text) => `"${text}"`).join(', ');
}

export function sorted(texts: Iterable<string>): readonly string[] {
  return [...new Set(texts)].toSorted();
}

/** Returns a check that skips pods of Windows, which cannot set the field (from 1.25 on). */
export function unlessWindows(check: Check): Check {
  return (pod) => (pod.spec.os?.name === 'windows' ? undefined : check(pod));
}

/**
 * Returns a check that skips pods in a user namespace, where root has no privileges on the host.
 */
export function unlessInUserNamespace(check: Check): Check {
  return (pod) => (pod.spec.hostUsers === false ? undefined : check(pod));
}
