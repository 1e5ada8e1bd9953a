// Makes an API service of each group and version that this server itself answers for, at every start.

import { apiServices } from '#api/groups/apiregistration/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

/** In which order clients see the groups: the highest first. */
const GROUP_PRIORITIES: Readonly<Record<string, number>> = {
  '': 18_000,
  apps: 17_800,
  'events.k8s.io': 17_750,
  'authentication.k8s.io': 17_700,
  'authorization.k8s.io': 17_600,
  autoscaling: 17_500,
  batch: 17_400,
  'certificates.k8s.io': 17_300,
  'networking.k8s.io': 17_200,
  policy: 17_100,
  'rbac.authorization.k8s.io': 17_000,
  'storage.k8s.io': 16_800,
  'apiextensions.k8s.io': 16_700,
  'admissionregistration.k8s.io': 16_700,
  'scheduling.k8s.io': 16_600,
  'coordination.k8s.io': 16_500,
  'node.k8s.io': 16_300,
  'discovery.k8s.io': 16_200,
  'resource.k8s.io': 16_200,
  'flowcontrol.apiserver.k8s.io': 16_100,
  'storagemigration.k8s.io': 15_800,
};
const OTHERS = 15_000;
/** Within a group: which version is shown first. */
const VERSION_PRIORITIES: Readonly<Record<string, number>> = {
  '/v1': 1,
  'autoscaling/v2': 30,
  'flowcontrol.apiserver.k8s.io/v1': 21,
  'resource.k8s.io/v1': 21,
  'storagemigration.k8s.io/v1beta1': 9,
};
const FIRST_VERSION = 15;
const MANAGED = 'kube-aggregator.kubernetes.io/automanaged';
const LABELS = { [MANAGED]: 'onstart' };

/** Safe to be run at every start. What is there and was made here gets the spec that it should have, or goes if it is not served now. */
export async function createLocalApiServices(client: Client, served: Iterable<GroupVersion>): Promise<void> {
  const names = new Set<string>();
  const making: Promise<void>[] = [];
  for (const { group, version } of served) {
    const name = `${version}.${group}`;
    if (group === 'apiregistration.k8s.io' || names.has(name)) continue;
    names.add(name);
    const spec = {
      ...(group !== '' && { group }),
      version,
      groupPriorityMinimum: GROUP_PRIORITIES[group] ?? OTHERS,
      versionPriority: VERSION_PRIORITIES[`${group}/${version}`] ?? FIRST_VERSION,
    };
    making.push(keep(client, name, spec));
  }
  await Promise.all(making);
  const { items } = await client.resource(apiServices).list({ labelSelector: `${MANAGED}=${LABELS[MANAGED]}` });
  const leftOver = items.filter(({ metadata }) => !names.has(metadata.name));
  await Promise.all(leftOver.map(({ metadata }) => remove(client, metadata)));
}

async function remove(client: Client, { name, uid }: { readonly name: string; readonly uid: string }): Promise<void> {
  try {
    await client.resource(apiServices).delete(name, { preconditions: { uid } });
  } catch (error) {
    if (!apierrors.isNotFound(error) && !apierrors.isConflict(error)) throw error;
  }
}

async function keep(client: Client, name: string, spec: object): Promise<void> {
  const access = client.resource(apiServices);
  try {
    await access.create({ metadata: { name, labels: LABELS }, spec });
  } catch (error) {
    if (!apierrors.isAlreadyExists(error)) throw error;
    const current = await access.get(name);
    if (current.metadata.labels?.[MANAGED] !== LABELS[MANAGED] || semanticEqual(current.spec, spec)) return;
    await access.patch(name, 'application/json-patch+json', [{ op: 'replace', path: '/spec', value: spec }]);
  }
}
