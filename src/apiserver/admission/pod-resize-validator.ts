// Rejects a resize of a pod that its node could never provide. Resources that other pods use do not
// count, as they may become free.

import type { Node, ResourceList } from '#api/groups/core/v1/index.ts';
import { podAmounts } from '#api/groups/core/v1/quota/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import type { AdmissionServices } from './services.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from './plugin.ts';
import type { ImmutablePod } from './pod-defaults.ts';
import { changesBoundPod, isPodResize, refusal, withNodeOf } from './pod-resize.ts';

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

  concerns(target: AdmissionTarget): boolean {
    return isPodResize(target);
  }

  validate(attributes: AdmissionAttributes): Awaitable<void> {
    if (!changesBoundPod(attributes)) return undefined;
    return withNodeOf(attributes, this.#find, (node) => check(attributes, node));
  }
}

function check(attributes: AdmissionAttributes, node: Immutable<Node>): void {
  const os = node.metadata.labels?.[OS] ?? 'linux';
  if (os !== 'linux') {
    const why =
      `pod resize is only supported on linux nodes, node ${JSON.stringify(node.metadata.name)} ` +
      `is ${JSON.stringify(os)}`;
    throw withCause(refusal(attributes, why), 'UnsupportedPlatform');
  }
  const problem = beyond(attributes.object as ImmutablePod, node.status.allocatable ?? {});
  if (problem !== '')
    throw withCause(
      refusal(attributes, `node didn't have enough allocatable resources: ${problem}`),
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
