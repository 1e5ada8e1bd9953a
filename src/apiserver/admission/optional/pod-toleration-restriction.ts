// Gives pods the default tolerations of their namespace, and rejects those that tolerate more than
// the namespace may.

import type { Namespace } from '#api/groups/core/v1/index.ts';
import { podQosClass } from '#api/groups/core/v1/qos.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import { isPlainObject } from '#machinery/deep.ts';
import type { Find } from '../../catalog/internal-client.ts';
import type { TolerationSettings } from '../configuration.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from '../plugin.ts';
import { type ImmutablePod, isPodWrite } from '../pod-defaults.ts';
import { covers, mergeTolerations } from '../tolerations.ts';

type Toleration = NonNullable<ImmutablePod['spec']['tolerations']>[number];

const DEFAULTS = 'scheduler.alpha.kubernetes.io/defaultTolerations';
const ALLOWED = 'scheduler.alpha.kubernetes.io/tolerationsWhitelist';
/** Pods with requests stay on nodes that run out of memory. */
const MEMORY_PRESSURE: Toleration = {
  key: 'node.kubernetes.io/memory-pressure',
  operator: 'Exists',
  effect: 'NoSchedule',
};

export class PodTolerationRestriction implements AdmissionPlugin {
  readonly name = 'PodTolerationRestriction';
  readonly #find: Find;
  readonly #settings: TolerationSettings;

  constructor({ find }: { readonly find: Find }, settings: TolerationSettings = {}) {
    this.#find = find;
    this.#settings = settings;
  }

  concerns(target: AdmissionTarget): boolean {
    return isPodWrite(target);
  }

  admit(attributes: AdmissionAttributes & { readonly object: KubeObject }): Awaitable<KubeObject> {
    const pod = attributes.object as ImmutablePod;
    const { namespace, operation } = attributes;
    return andThen(this.#namespace(namespace), (found) => {
      const added =
        operation === 'CREATE'
          ? (tolerationsIn(found, DEFAULTS) ?? this.#settings.default ?? [])
          : [];
      const extra = podQosClass(pod.spec) === 'BestEffort' ? added : [...added, MEMORY_PRESSURE];
      const tolerations = pod.spec.tolerations ?? [];
      const merged = extra.length === 0 ? tolerations : mergeTolerations(tolerations, extra);
      this.#check(merged, found, pod.metadata.name);
      if (extra.length === 0) return attributes.object;
      const changed: ImmutablePod = { ...pod, spec: { ...pod.spec, tolerations: merged } };
      return changed;
    });
  }

  validate({ namespace, object }: AdmissionAttributes): Awaitable<void> {
    const { metadata, spec } = object as ImmutablePod;
    return andThen(this.#namespace(namespace), (found) =>
      this.#check(spec.tolerations ?? [], found, metadata.name),
    );
  }

  #namespace(namespace: string): Awaitable<Immutable<Namespace>> {
    const lookup = this.#find<Immutable<Namespace>>('', 'namespaces', '', namespace);
    return andThen(lookup, (found) => {
      if (found === undefined)
        throw apierrors.notFound({ group: '', resource: 'namespaces' }, namespace);
      return found;
    });
  }

  #check(tolerations: readonly Toleration[], namespace: Immutable<Namespace>, name: string): void {
    const own = tolerationsIn(namespace, ALLOWED);
    const allowed = own ?? this.#settings.whitelist ?? [];
    if (allowed.length === 0) return;
    if (tolerations.every((each) => allowed.some((wide) => covers(wide, each)))) return;
    throw apierrors.forbidden(
      { group: '', resource: 'pods' },
      name,
      'pod tolerations (possibly merged with namespace default tolerations) conflict with its ' +
        `${own === undefined ? 'cluster' : 'namespace'} whitelist`,
    );
  }
}

/**
 * Returns the tolerations of an annotation; undefined if the namespace does not have it. Throws
 * StatusError for an annotation that is not a list of tolerations.
 */
function tolerationsIn(
  { metadata }: Immutable<Namespace>,
  annotation: string,
): readonly Toleration[] | undefined {
  const text = ownValue(metadata.annotations ?? {}, annotation);
  if (text === undefined) return undefined;
  if (text === '') return [];
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  if (!Array.isArray(value) || !value.every(isPlainObject))
    throw apierrors.internalError(`the annotation ${annotation} is no list of tolerations`);
  return value;
}
