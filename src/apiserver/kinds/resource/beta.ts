// The kinds of resource.k8s.io in the beta versions, which --runtime-config turns on. Objects are
// stored in v1, whose rules apply.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Conversions } from '#api/machinery/scheme.ts';
import {
  defineKind,
  type KindConfig,
  type KindDefinition,
} from '#apiserver/catalog/define-kind.ts';
import { inOtherVersion } from '#apiserver/catalog/other-version.ts';
import type { StoreServices } from '#apiserver/registry/resource-store.ts';

/** The releases since which a version is deprecated, and without it, as upstream. */
const LIFECYCLE: Readonly<Record<string, readonly [string, string]>> = {
  v1beta1: ['v1.35', 'v1.38'],
  v1beta2: ['v1.36', 'v1.39'],
};

/** Returns the kind in each of the versions `types`. */
export function betaKinds<T extends KubeObject, S extends StoreServices>(
  config: KindConfig<T, S>,
  types: readonly ResourceType[],
  conversions: Conversions,
): readonly KindDefinition<S>[] {
  const stored = apiVersionOf(config.type);
  return types.map((type) => {
    const served = apiVersionOf(type);
    const convert =
      (from: string, to: string) =>
      (object: KubeObject): KubeObject =>
        ({
          kind: type.kind,
          apiVersion: to,
          ...conversions[from]?.[to]?.(object as never),
        }) as KubeObject;
    const pair = {
      toStored: (object: KubeObject) => convert(served, stored)(object) as T,
      toServed: convert(stored, served),
    };
    const [since = '', until = ''] = LIFECYCLE[type.version] ?? [];
    const deprecation = `${served} ${type.kind} is deprecated in ${since}+, unavailable in ${until}+`;
    return defineKind(inOtherVersion<KubeObject, T, S>(config, type, pair, deprecation));
  });
}

const apiVersionOf = ({ group, version }: ResourceType): string => `${group}/${version}`;
