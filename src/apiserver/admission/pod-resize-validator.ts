// Rejects a resize of a pod that its node could never provide. Resources that other pods use do not
// count, as they may become free.

import type { Node, ResourceList } from '#api/groups/core/v1/index.ts';
import { podAmounts } from '#api/groups/core/v1/quota/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import type { AdmissionServices } from './services.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from './plugin.ts';
import type { ImmutablePod } from './pod-defaults.ts';

type Cause = 'NodeCapacity' | 'UnsupportedPlatform';

const OS = 'kubernetes.io/os';
/** The units in which messages give the amounts. */
const UNITS = { cpu: 'milliValue', memory: 'value' } as const;

export class PodResizeValidator implements AdmissionPlugin {
  readonly name = 'PodResizeValidator';
  readonly #find: AdmissionServices['find'];

  constructor({ find }: Pick<AdmissionServices, 'find'>) {
    this.#find = find;
  }

  concerns({ operation, resource, subresource }: AdmissionTarget): boolean {
    return (
      operation === 'UPDATE' &&
      resource.group === '' &&
      resource.resource === 'pods' &&
      subresource === 'resize'
    );
  }

  validate(attributes: AdmissionAttributes): Awaitable<void> {
    const pod = attributes.object as ImmutablePod;
    const { nodeName } = pod.spec;
    const isUnchanged = attributes.oldObject?.metadata.generation === pod.metadata.generation;
    if (nodeName === undefined || isUnchanged) return undefined;
    return andThen(this.#find<Immutable<Node>>('', 'nodes', '', nodeName), (node) =>
      check(attributes, pod, nodeName, node),
    );
  }
}

function check(
  attributes: AdmissionAttributes,
  pod: ImmutablePod,
  nodeName: string,
  node: Immutable<Node> | undefined,
): void {
  const refusal = (why: string) => apierrors.forbidden(attributes.resource, attributes.name, why);
  if (node === undefined) throw refusal(`node ${JSON.stringify(nodeName)} not found`);
  const os = node.metadata.labels?.[OS] ?? 'linux';
  if (os !== 'linux') {
    const why =
      `pod resize is only supported on linux nodes, node ${JSON.stringify(nodeName)} ` +
      `is ${JSON.stringify(os)}`;
    throw withCause(refusal(why), 'UnsupportedPlatform');
  }
  const problem = beyond(pod, node.status.allocatable ?? {});
  if (problem !== '')
    throw withCause(
      refusal(`node didn't have enough allocatable resources: ${problem}`),
      'NodeCapacity',
    );
}

function beyond(pod: ImmutablePod, allocatable: Immutable<ResourceList>): string {
  const requests = podAmounts(pod, 'requests');
  return (['cpu', 'memory'] as const)
    .flatMap((name) => {
      const requested = requests.get(name);
      const there = parseQuantity(allocatable[name] ?? '0');
      if (requested === undefined || requested.cmp(there) <= 0) return [];
      const unit = UNITS[name];
      return [`${name}, requested: ${requested[unit]()}, allocatable: ${there[unit]()}`];
    })
    .join('; ');
}

function withCause({ status }: apierrors.StatusError, reason: Cause): apierrors.StatusError {
  return apierrors.fromStatus({ ...status, details: { ...status.details, causes: [{ reason }] } });
}
