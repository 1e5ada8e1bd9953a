// Finds the pod templates of objects, which are evaluated like pods.

import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { AdmissionTarget } from '../plugin.ts';
import type { PodToCheck } from './control.ts';

type Template = Immutable<core.PodTemplateSpec>;

interface HasTemplate {
  readonly spec: { readonly template?: Template };
}

const ofSpec = (object: KubeObject): Template | undefined =>
  (object as KubeObject & HasTemplate).spec.template;

interface CronJob {
  readonly spec: { readonly jobTemplate: HasTemplate };
}

const TEMPLATES: ReadonlyMap<string, (object: KubeObject) => Template | undefined> = new Map([
  ['/podtemplates', (object: KubeObject) => (object as Immutable<core.PodTemplate>).template],
  ['/replicationcontrollers', ofSpec],
  ['apps/deployments', ofSpec],
  ['apps/replicasets', ofSpec],
  ['apps/statefulsets', ofSpec],
  ['apps/daemonsets', ofSpec],
  ['batch/jobs', ofSpec],
  [
    'batch/cronjobs',
    (object: KubeObject) => (object as KubeObject & CronJob).spec.jobTemplate.spec.template,
  ],
]);

type Resource = AdmissionTarget['resource'];

export function hasTemplate({ group, resource }: Resource): boolean {
  return TEMPLATES.has(`${group}/${resource}`);
}

/**
 * Returns the pod template; undefined if the object has none, which replication controllers allow.
 */
export function templateOf(
  { group, resource }: Resource,
  object: KubeObject,
): PodToCheck | undefined {
  const template = TEMPLATES.get(`${group}/${resource}`)?.(object);
  return template === undefined || template === null ? undefined : podToCheck(template);
}

export function podToCheck({ metadata, spec }: Template | Immutable<core.Pod>): PodToCheck {
  return { annotations: metadata?.annotations ?? {}, spec };
}
