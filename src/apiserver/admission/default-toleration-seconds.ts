// Gives a pod without such tolerations a toleration for nodes that are not ready, and one for
// unreachable nodes; each lasts five minutes by default.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from './plugin.ts';
import { type ImmutablePod, isPodWrite } from './pod-defaults.ts';

/** The tolerations' durations, in seconds. Default: 300. */
export interface DefaultTolerations {
  readonly notReady?: number;
  readonly unreachable?: number;
}

const DEFAULT_SECONDS = 300;

type Toleration = NonNullable<ImmutablePod['spec']['tolerations']>[number];

export class DefaultTolerationSeconds implements AdmissionPlugin {
  readonly name = 'DefaultTolerationSeconds';
  readonly #seconds: ReadonlyMap<string, number>;

  constructor({
    notReady = DEFAULT_SECONDS,
    unreachable = DEFAULT_SECONDS,
  }: DefaultTolerations = {}) {
    this.#seconds = new Map([
      ['node.kubernetes.io/not-ready', notReady],
      ['node.kubernetes.io/unreachable', unreachable],
    ]);
  }

  concerns(target: AdmissionTarget): boolean {
    return isPodWrite(target);
  }

  admit({ object }: AdmissionAttributes & { readonly object: KubeObject }): KubeObject {
    const pod = object as ImmutablePod;
    const tolerations = pod.spec.tolerations ?? [];
    const added = [...this.#seconds]
      .filter(([key]) => !tolerations.some((toleration) => tolerates(toleration, key)))
      .map(([key, tolerationSeconds]): Toleration => ({
        key,
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds,
      }));
    if (added.length === 0) return object;
    const changed: ImmutablePod = {
      ...pod,
      spec: { ...pod.spec, tolerations: [...tolerations, ...added] },
    };
    return changed;
  }
}

function tolerates(toleration: Toleration, key: string): boolean {
  const covers = (toleration.key ?? '') === '' || toleration.key === key;
  return covers && ((toleration.effect ?? '') === '' || toleration.effect === 'NoExecute');
}
