// Sets the priority of a new pod from its priority class. One class may be the default for pods
// without one.

import type { PriorityClass as MutablePriorityClass } from '#api/groups/scheduling/v1/index.ts';
import { SYSTEM_PRIORITY_CLASSES } from '#api/groups/scheduling/v1/system-classes.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import type { AdmissionServices } from '../services.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from '../plugin.ts';
import { type ImmutablePod, isPodWrite } from '../pod-defaults.ts';

type PriorityClass = Immutable<MutablePriorityClass>;
type PreemptionPolicy = NonNullable<ImmutablePod['spec']['preemptionPolicy']>;

interface PodPriority {
  readonly priorityClassName?: string;
  readonly priority: number;
  readonly preemptionPolicy: PreemptionPolicy;
}

const GROUP = 'scheduling.k8s.io';
const RESOURCE = 'priorityclasses';
const PREEMPT: PreemptionPolicy = 'PreemptLowerPriority';

export class Priority implements AdmissionPlugin {
  readonly name = 'Priority';
  readonly #services: Pick<AdmissionServices, 'find' | 'findAll'>;

  constructor(services: Pick<AdmissionServices, 'find' | 'findAll'>) {
    this.#services = services;
  }

  concerns(target: AdmissionTarget): boolean {
    return isPodWrite(target) || isClassWrite(target);
  }

  admit(attributes: AdmissionAttributes & { readonly object: KubeObject }): Awaitable<KubeObject> {
    if (isClassWrite(attributes)) return attributes.object;
    const pod = attributes.object as ImmutablePod;
    return attributes.operation === 'CREATE'
      ? this.#admitNew(attributes, pod)
      : keepPriority(pod, attributes.oldObject);
  }

  /** Rejects a second default class. */
  validate(attributes: AdmissionAttributes): Awaitable<void> {
    return isClassWrite(attributes) ? this.#validateClass(attributes) : undefined;
  }

  async #validateClass(attributes: AdmissionAttributes): Promise<void> {
    const priorityClass = attributes.object as PriorityClass;
    if (priorityClass.globalDefault !== true) return;
    const present = await this.#defaultClass();
    if (present === undefined || present.metadata.name === priorityClass.metadata.name) return;
    throw apierrors.forbidden(
      attributes.resource,
      priorityClass.metadata.name,
      `PriorityClass ${present.metadata.name} is already marked as default. Only one default can exist`,
    );
  }

  #admitNew(attributes: AdmissionAttributes, pod: ImmutablePod): Awaitable<ImmutablePod> {
    const priority = this.#priorityOf(attributes, pod.spec.priorityClassName ?? '');
    return andThen(priority, (computed) => this.#withPriority(attributes, pod, computed));
  }

  #withPriority(
    attributes: AdmissionAttributes,
    pod: ImmutablePod,
    computed: PodPriority,
  ): ImmutablePod {
    const { priority, preemptionPolicy } = computed;
    const refuse = (why: string): apierrors.StatusError =>
      apierrors.forbidden(attributes.resource, pod.metadata.name ?? '', why);
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
    return { ...pod, spec: { ...pod.spec, ...computed } };
  }

  #priorityOf(attributes: AdmissionAttributes, name: string): Awaitable<PodPriority> {
    if (name === '') {
      return andThen(this.#defaultClass(), (byDefault): PodPriority => {
        if (byDefault === undefined) return { priority: 0, preemptionPolicy: PREEMPT };
        return { priorityClassName: byDefault.metadata.name, ...priorityFrom(byDefault) };
      });
    }
    const lookup = this.#services.find<PriorityClass>(GROUP, RESOURCE, '', name);
    return andThen(lookup, (priorityClass) => this.#priorityFrom(priorityClass, attributes, name));
  }

  #priorityFrom(
    priorityClass: PriorityClass | undefined,
    attributes: AdmissionAttributes,
    name: string,
  ): PodPriority {
    if (priorityClass !== undefined) return priorityFrom(priorityClass);
    // The server's own first pods may be created before its priority classes.
    const system = SYSTEM_PRIORITY_CLASSES.find((each) => each.name === name);
    if (system !== undefined) return { priority: system.value, preemptionPolicy: PREEMPT };
    const podName = attributes.object?.metadata.name ?? '';
    throw apierrors.forbidden(
      attributes.resource,
      podName,
      `no PriorityClass with name ${name} was found`,
    );
  }

  /**
   * Returns the default class. Concurrent writes may create two; the one with the lower value
   * counts.
   */
  #defaultClass(): Awaitable<PriorityClass | undefined> {
    return andThen(this.#services.findAll<PriorityClass>(GROUP, RESOURCE, ''), lowestDefault);
  }
}

function lowestDefault(classes: readonly PriorityClass[]): PriorityClass | undefined {
  let lowest: PriorityClass | undefined;
  for (const each of classes) {
    if (each.globalDefault === true && (lowest === undefined || each.value < lowest.value))
      lowest = each;
  }
  return lowest;
}

function isClassWrite({ resource, subresource, operation }: AdmissionTarget): boolean {
  const isClass = resource.group === GROUP && resource.resource === RESOURCE && subresource === '';
  return isClass && (operation === 'CREATE' || operation === 'UPDATE');
}

function priorityFrom({ value, preemptionPolicy }: PriorityClass): PodPriority {
  return { priority: value, preemptionPolicy: preemptionPolicy ?? PREEMPT };
}

/**
 * Returns the pod with the stored priority, which an update may omit because the plugin has set it.
 */
function keepPriority(pod: ImmutablePod, oldObject: KubeObject | undefined): ImmutablePod {
  const { priority, preemptionPolicy } = (oldObject as ImmutablePod).spec;
  const kept = {
    ...(pod.spec.priority === undefined && priority !== undefined && { priority }),
    ...(pod.spec.preemptionPolicy === undefined &&
      preemptionPolicy !== undefined && { preemptionPolicy }),
  };
  return Object.keys(kept).length === 0 ? pod : { ...pod, spec: { ...pod.spec, ...kept } };
}
