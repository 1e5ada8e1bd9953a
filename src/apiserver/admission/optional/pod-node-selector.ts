// Gives pods the node selector of their namespace, and rejects those that ask for other nodes than
// the namespace may use.

import type { Namespace } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import { isQualifiedName, isValidLabelValue } from '#machinery/validation/validation.ts';
import type { Find } from '../../catalog/internal-client.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from '../plugin.ts';
import { type ImmutablePod, isPodWrite } from '../pod-defaults.ts';

type Labels = ReadonlyMap<string, string>;

const ANNOTATION = 'scheduler.alpha.kubernetes.io/node-selector';
const CLUSTER_DEFAULT = 'clusterDefaultNodeSelector';

export class PodNodeSelector implements AdmissionPlugin {
  readonly name = 'PodNodeSelector';
  readonly #find: Find;
  readonly #selectors: Readonly<Record<string, string>>;

  /** `selectors`: see AdmissionPluginSettings. */
  constructor({ find }: { readonly find: Find }, selectors: Readonly<Record<string, string>> = {}) {
    this.#find = find;
    this.#selectors = selectors;
  }

  concerns(target: AdmissionTarget): boolean {
    return target.operation === 'CREATE' && isPodWrite(target);
  }

  admit(attributes: AdmissionAttributes & { readonly object: KubeObject }): Awaitable<KubeObject> {
    const pod = attributes.object as ImmutablePod;
    return andThen(this.#selectorOf(attributes.namespace), (selector) => {
      const own = labelsOf(pod);
      checkConflict(selector, own, attributes);
      const merged = new Map([...selector, ...own]);
      this.#checkAllowed(merged, attributes);
      if (merged.size === own.size) return attributes.object;
      const changed: ImmutablePod = {
        ...pod,
        spec: { ...pod.spec, nodeSelector: Object.fromEntries(merged) },
      };
      return changed;
    });
  }

  validate(attributes: AdmissionAttributes): Awaitable<void> {
    const own = labelsOf(attributes.object as ImmutablePod);
    return andThen(this.#selectorOf(attributes.namespace), (selector) => {
      checkConflict(selector, own, attributes);
      this.#checkAllowed(own, attributes);
    });
  }

  #checkAllowed(labels: Labels, { namespace, object, resource }: AdmissionAttributes): void {
    const allowed = parseLabels(ownValue(this.#selectors, namespace) ?? '');
    if (allowed.size === 0) return;
    if ([...labels].every(([key, value]) => allowed.get(key) === value)) return;
    throw apierrors.forbidden(
      resource,
      object?.metadata.name ?? '',
      'pod node label selector labels conflict with its namespace whitelist',
    );
  }

  #selectorOf(namespace: string): Awaitable<Labels> {
    const lookup = this.#find<Immutable<Namespace>>('', 'namespaces', '', namespace);
    return andThen(lookup, (found) => {
      if (found === undefined)
        throw apierrors.notFound({ group: '', resource: 'namespaces' }, namespace);
      const annotated = ownValue(found.metadata.annotations ?? {}, ANNOTATION);
      return parseLabels(annotated ?? ownValue(this.#selectors, CLUSTER_DEFAULT) ?? '');
    });
  }
}

function labelsOf({ spec }: ImmutablePod): Labels {
  return new Map(Object.entries(spec.nodeSelector ?? {}));
}

function checkConflict(
  selector: Labels,
  own: Labels,
  { object, resource }: AdmissionAttributes,
): void {
  const conflicts = [...own].some(([key, value]) => (selector.get(key) ?? value) !== value);
  if (!conflicts) return;
  throw apierrors.forbidden(
    resource,
    object?.metadata.name ?? '',
    'pod node label selector conflicts with its namespace node label selector',
  );
}

/** Parses `a=b,c=d`. Throws StatusError: a namespace whose selector is wrong gets no pods. */
function parseLabels(text: string): Labels {
  if (text === '') return new Map();
  return new Map(
    text.split(',').map((term) => {
      const [key = '', value = '', ...more] = term.split('=').map((part) => part.trim());
      const problems = [...isQualifiedName(key), ...isValidLabelValue(value)];
      if (more.length > 0 || !term.includes('=') || problems.length > 0)
        throw apierrors.internalError(`invalid selector: [${term.split('=').join(' ')}]`);
      return [key, value];
    }),
  );
}
