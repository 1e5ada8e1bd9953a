// A pod's priority comes from its class, and is written into it when it is created. One class may be that of pods that name
// none.

import type { PriorityClass as MutablePriorityClass } from '../../../api/scheduling/v1/index.ts';
import { SYSTEM_PRIORITY_CLASSES } from '../../../api/scheduling/v1/system-classes.ts';
import type { Immutable } from '../../../api/meta/v1/index.ts';
import type { KubeObject } from '../../../client/client.ts';
import * as apierrors from '../../../machinery/apierrors.ts';
import type { AdmissionServices } from '../defaults.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from '../plugin.ts';
import { isPodWrite } from '../pod-defaults.ts';
import type { ImmutablePod } from '../pod-defaults.ts';

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

  async admit(attributes: AdmissionAttributes & { readonly object: KubeObject }): Promise<KubeObject> {
    if (isClassWrite(attributes)) return attributes.object;
    const pod = attributes.object as ImmutablePod;
    return attributes.operation === 'CREATE' ? this.#admitNew(attributes, pod) : keepPriority(pod, attributes.oldObject);
  }

  /** Only one class may be the default. */
  async validate(attributes: AdmissionAttributes): Promise<void> {
    if (!isClassWrite(attributes)) return;
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

  async #admitNew(attributes: AdmissionAttributes, pod: ImmutablePod): Promise<ImmutablePod> {
    const computed = await this.#priorityOf(attributes, pod.spec.priorityClassName ?? '');
    const { priority, preemptionPolicy } = computed;
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
    return { ...pod, spec: { ...pod.spec, ...computed } };
  }

  async #priorityOf(attributes: AdmissionAttributes, name: string): Promise<PodPriority> {
    if (name === '') {
      const byDefault = await this.#defaultClass();
      if (byDefault === undefined) return { priority: 0, preemptionPolicy: PREEMPT };
      return { priorityClassName: byDefault.metadata.name, ...priorityFrom(byDefault) };
    }
    const known = await this.#services.find<PriorityClass>(GROUP, RESOURCE, '', name);
    if (known !== undefined) return priorityFrom(known);
    // The server's own first pods may come before the classes that it makes.
    const system = SYSTEM_PRIORITY_CLASSES.find((each) => each.name === name);
    if (system !== undefined) return { priority: system.value, preemptionPolicy: PREEMPT };
    const podName = attributes.object?.metadata.name ?? '';
    throw apierrors.forbidden(attributes.resource, podName, `no PriorityClass with name ${name} was found`);
  }

  /** Two may have become defaults at the same time: then it is the lower one. */
  async #defaultClass(): Promise<PriorityClass | undefined> {
    const classes = await this.#services.findAll<PriorityClass>(GROUP, RESOURCE, '');
    const [lowest] = classes.filter(({ globalDefault }) => globalDefault === true).toSorted((a, b) => a.value - b.value);
    return lowest;
  }
}

function isClassWrite({ resource, subresource, operation }: AdmissionTarget): boolean {
  const isClass = resource.group === GROUP && resource.resource === RESOURCE && subresource === '';
  return isClass && (operation === 'CREATE' || operation === 'UPDATE');
}

function priorityFrom({ value, preemptionPolicy }: PriorityClass): PodPriority {
  return { priority: value, preemptionPolicy: preemptionPolicy ?? PREEMPT };
}

/** What the plugin filled in may be left out of an update. */
function keepPriority(pod: ImmutablePod, oldObject: KubeObject | undefined): ImmutablePod {
  const { priority, preemptionPolicy } = (oldObject as ImmutablePod).spec;
  const kept = {
    ...(pod.spec.priority === undefined && priority !== undefined && { priority }),
    ...(pod.spec.preemptionPolicy === undefined && preemptionPolicy !== undefined && { preemptionPolicy }),
  };
  return Object.keys(kept).length === 0 ? pod : { ...pod, spec: { ...pod.spec, ...kept } };
}
