// A pod's priority comes from its class, and is written into it when it is created. Classes are not served yet; the two that
// every cluster has are known here.

import type { KubeObject } from '../../client/client.ts';
import * as apierrors from '../../machinery/apierrors.ts';
import type { AdmissionServices } from './defaults.ts';
import type { AdmissionAttributes, AdmissionPlugin } from './plugin.ts';
import { isPodWrite } from './pod-defaults.ts';
import type { ImmutablePod } from './pod-defaults.ts';

type PreemptionPolicy = NonNullable<ImmutablePod['spec']['preemptionPolicy']>;

interface PriorityClass extends KubeObject {
  readonly value: number;
  readonly preemptionPolicy?: PreemptionPolicy;
}

const SYSTEM_CLASSES: Readonly<Record<string, number | undefined>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};
const PREEMPT: PreemptionPolicy = 'PreemptLowerPriority';

export class Priority implements AdmissionPlugin {
  readonly name = 'Priority';
  readonly #services: Pick<AdmissionServices, 'find'>;

  constructor(services: Pick<AdmissionServices, 'find'>) {
    this.#services = services;
  }

  handles(attributes: AdmissionAttributes): boolean {
    return isPodWrite(attributes) && attributes.operation === 'CREATE';
  }

  async admit(attributes: AdmissionAttributes & { readonly object: KubeObject }): Promise<KubeObject> {
    const pod = attributes.object as ImmutablePod;
    const { priority, preemptionPolicy } = await this.#classOf(attributes, pod.spec.priorityClassName ?? '');
    const refuse = (why: string): apierrors.StatusError => apierrors.forbidden(attributes.resource, pod.metadata.name ?? '', why);
    if (pod.spec.priority !== undefined && pod.spec.priority !== priority) {
      throw refuse(
        `the integer value of priority (${pod.spec.priority}) must not be provided in pod spec; ` +
          `priority admission controller computed ${priority} from the given PriorityClass name`,
      );
    }
    if (pod.spec.preemptionPolicy !== undefined && pod.spec.preemptionPolicy !== preemptionPolicy) {
      throw refuse(
        `the string value of PreemptionPolicy (${pod.spec.preemptionPolicy}) must not be provided in pod spec; ` +
          `priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`,
      );
    }
    const changed: ImmutablePod = { ...pod, spec: { ...pod.spec, priority, preemptionPolicy } };
    return changed;
  }

  async #classOf(
    attributes: AdmissionAttributes,
    name: string,
  ): Promise<{ priority: number; preemptionPolicy: PreemptionPolicy }> {
    if (name === '') return { priority: 0, preemptionPolicy: PREEMPT };
    const known = await this.#services.find<PriorityClass>('scheduling.k8s.io', 'priorityclasses', '', name);
    if (known !== undefined) return { priority: known.value, preemptionPolicy: known.preemptionPolicy ?? PREEMPT };
    const system = SYSTEM_CLASSES[name];
    if (system !== undefined) return { priority: system, preemptionPolicy: PREEMPT };
    const podName = attributes.object?.metadata.name ?? '';
    throw apierrors.forbidden(attributes.resource, podName, `no PriorityClass with name ${name} was found`);
  }
}
