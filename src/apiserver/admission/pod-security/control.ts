// A control: one thing that a level of the Pod Security Standards demands of pods. What it demands has changed over Kubernetes'
// versions, so it has one check for each span of them.

import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Level } from './policy.ts';

export type PodSpec = Immutable<core.PodSpec>;
export type Container =
  | PodSpec['containers'][number]
  | NonNullable<PodSpec['ephemeralContainers']>[number];

/** A pod, or the template of one. */
export interface PodToCheck {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: PodSpec;
}

export interface Violation {
  /** Of which kind it is, the same for all pods: 'hostPort'. */
  readonly reason: string;
  /** What in this pod it is. */
  readonly detail: string;
}

/** Undefined: the pod is as it should be. */
export type Check = (pod: PodToCheck) => Violation | undefined;

export interface Control {
  /** Controls are told in the order of their names, those of baseline first. */
  readonly id: string;
  /** Restricted demands what baseline does, too. */
  readonly level: Exclude<Level, 'privileged'>;
  /** Each from a minor version on, until the next one. In ascending order. */
  readonly versions: readonly { readonly since: number; readonly check: Check }[];
  /** The control of baseline that this one takes the place of, as soon as there is a check. */
  readonly replaces?: string;
}

export function containersOf({
  initContainers = [],
  containers,
  ephemeralContainers = [],
}: PodSpec): readonly Container[] {
  return [...initContainers, ...containers, ...ephemeralContainers];
}

/** The names of those that are not as they should be. */
export function containersWhere(
  { spec }: PodToCheck,
  isWrong: (container: Container) => boolean,
): readonly string[] {
  return containersOf(spec).flatMap((container) => (isWrong(container) ? [container.name] : []));
}

/** 'container "a"', 'containers "a", "b"' */
export function named(what: string, names: readonly string[]): string {
  return `${plural(what, names.length)} ${quoted(names)}`;
}

/** Whoever said it: 'pod', 'container "a"', 'pod and containers "a", "b"'. '': nobody. */
export function saidBy(pod: boolean, containers: readonly string[]): string {
  return [
    ...(pod ? ['pod'] : []),
    ...(containers.length > 0 ? [named('container', containers)] : []),
  ].join(' and ');
}

export function plural(word: string, count: number): string {
  return count === 1 ? word : `${word}s`;
}

/** As they are, even with quotes in them. */
export function quoted(texts: readonly string[]): string {
  return texts.map((text) => `"${text}"`).join(', ');
}

export function sorted(texts: Iterable<string>): readonly string[] {
  return [...new Set(texts)].toSorted();
}

/** Nothing that pods of Windows could set, so they need not set it, from 1.25 on. */
export function unlessWindows(check: Check): Check {
  return (pod) => (pod.spec.os?.name === 'windows' ? undefined : check(pod));
}

/** Whoever is root in a user namespace is nobody outside of it. */
export function unlessInUserNamespace(check: Check): Check {
  return (pod) => (pod.spec.hostUsers === false ? undefined : check(pod));
}
