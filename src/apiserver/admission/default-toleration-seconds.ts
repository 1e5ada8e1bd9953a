// A pod that says nothing about it stays five minutes on a node that is not ready or cannot be reached.

import type { KubeObject } from '../../client/client.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from './plugin.ts';
import { isPodWrite } from './pod-defaults.ts';
import type { ImmutablePod } from './pod-defaults.ts';

const DEFAULT_SECONDS = 300;
const TAINTS = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'] as const;

type Toleration = NonNullable<ImmutablePod['spec']['tolerations']>[number];

export class DefaultTolerationSeconds implements AdmissionPlugin {
  readonly name = 'DefaultTolerationSeconds';

  concerns(target: AdmissionTarget): boolean {
    return isPodWrite(target);
  }

  admit({ object }: AdmissionAttributes & { readonly object: KubeObject }): KubeObject {
    const pod = object as ImmutablePod;
    const tolerations = pod.spec.tolerations ?? [];
    const added = TAINTS.filter((key) => !tolerations.some((toleration) => tolerates(toleration, key))).map(
      (key): Toleration => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: DEFAULT_SECONDS }),
    );
    if (added.length === 0) return object;
    const changed: ImmutablePod = { ...pod, spec: { ...pod.spec, tolerations: [...tolerations, ...added] } };
    return changed;
  }
}

function tolerates(toleration: Toleration, key: string): boolean {
  const covers = (toleration.key ?? '') === '' || toleration.key === key;
  return covers && ((toleration.effect ?? '') === '' || toleration.effect === 'NoExecute');
}
