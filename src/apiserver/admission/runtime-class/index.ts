// Gives a pod of a runtime class the class's overhead, and restricts it to the class's nodes.

import type { RuntimeClass as MutableRuntimeClass } from '#api/groups/node/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import type { AdmissionServices } from '../services.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from '../plugin.ts';
import { type ImmutablePod, isPodWrite } from '../pod-defaults.ts';
import { mergeTolerations } from '../tolerations.ts';

type RuntimeClass = Immutable<MutableRuntimeClass>;
type Scheduling = Immutable<NonNullable<MutableRuntimeClass['scheduling']>>;
type Refuse = (why: string) => apierrors.StatusError;

const MISMATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

export class RuntimeClassAdmission implements AdmissionPlugin {
  readonly name = 'RuntimeClass';
  readonly #services: Pick<AdmissionServices, 'find'>;

  constructor(services: Pick<AdmissionServices, 'find'>) {
    this.#services = services;
  }

  concerns(target: AdmissionTarget): boolean {
    return isPodWrite(target) && target.operation === 'CREATE';
  }

  admit(attributes: AdmissionAttributes & { readonly object: KubeObject }): Awaitable<KubeObject> {
    const pod = attributes.object as ImmutablePod;
    const refuse = refusal(attributes, pod);
    return andThen(this.#classOf(pod, refuse), (runtimeClass) =>
      withClass(pod, runtimeClass, refuse),
    );
  }

  /** Checks that the overhead is still the class's, since another plugin may have changed it. */
  validate(attributes: AdmissionAttributes): Awaitable<void> {
    const pod = attributes.object as ImmutablePod;
    const refuse = refusal(attributes, pod);
    return andThen(this.#classOf(pod, refuse), (runtimeClass) =>
      checkOverhead(pod, runtimeClass, refuse),
    );
  }

  #classOf(pod: ImmutablePod, refuse: Refuse): Awaitable<RuntimeClass | undefined> {
    const name = pod.spec.runtimeClassName;
    if (name === undefined) return undefined;
    return andThen(
      this.#services.find<RuntimeClass>('node.k8s.io', 'runtimeclasses', '', name),
      (runtimeClass) => {
        if (runtimeClass === undefined)
          throw refuse(`pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
        return runtimeClass;
      },
    );
  }
}

function withClass(
  pod: ImmutablePod,
  runtimeClass: RuntimeClass | undefined,
  refuse: Refuse,
): ImmutablePod {
  if (runtimeClass === undefined) return pod;
  const { overhead, scheduling } = runtimeClass;
  let { spec } = pod;
  if (overhead !== undefined) {
    const needs = overhead.podFixed ?? {};
    if (spec.overhead !== undefined && !semanticEqual(spec.overhead, needs)) throw refuse(MISMATCH);
    if (Object.keys(needs).length > 0) spec = { ...spec, overhead: needs };
  }
  if (scheduling !== undefined) spec = scheduled(spec, scheduling, refuse);
  return { ...pod, spec };
}

function checkOverhead(
  pod: ImmutablePod,
  runtimeClass: RuntimeClass | undefined,
  refuse: Refuse,
): void {
  if (runtimeClass?.overhead !== undefined) {
    if (!semanticEqual(runtimeClass.overhead.podFixed ?? {}, pod.spec.overhead ?? {}))
      throw refuse(MISMATCH);
  } else if (pod.spec.overhead !== undefined) {
    throw refuse(
      'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
    );
  }
}

function refusal(attributes: AdmissionAttributes, pod: ImmutablePod): Refuse {
  return (why) => apierrors.forbidden(attributes.resource, pod.metadata.name ?? '', why);
}

function scheduled(
  spec: ImmutablePod['spec'],
  scheduling: Scheduling,
  refuse: Refuse,
): ImmutablePod['spec'] {
  const own = spec.nodeSelector ?? {};
  const wanted = scheduling.nodeSelector ?? {};
  for (const [key, value] of Object.entries(wanted)) {
    const present = Object.hasOwn(own, key) ? own[key] : value;
    if (present !== value) {
      throw refuse(
        `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${present}`,
      );
    }
  }
  const nodeSelector = { ...own, ...wanted };
  const tolerations = mergeTolerations(spec.tolerations ?? [], scheduling.tolerations ?? []);
  return {
    ...spec,
    ...(Object.keys(nodeSelector).length > 0 && { nodeSelector }),
    ...(tolerations.length > 0 && { tolerations }),
  };
}
