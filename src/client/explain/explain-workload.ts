// Explains why a workload lacks pods. A workload is a controller that owns pods, or an owner of such controllers.

import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { asInfo, type Cause, cause, type ObjectRef, refText, worst } from './cause.ts';
import type { Context } from './context.ts';
import { conditionsOf, conditionSeverity, conditionText } from './conditions.ts';
import { notSaid, warnings } from './events.ts';
import { refOf } from './object-set.ts';
import { quotaBehind } from './quota.ts';

interface WorkloadFields extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly paused?: boolean;
    readonly suspend?: boolean;
    readonly completions?: number;
    readonly parallelism?: number;
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly readyReplicas?: number;
    readonly updatedReplicas?: number;
    readonly desiredNumberScheduled?: number;
    readonly numberReady?: number;
    readonly active?: number;
    readonly succeeded?: number;
    readonly failed?: number;
  };
}

/** Kinds whose pods, or whose children with pods, are counted. */
export function explainWorkload(object: KubeObject, context: Context): readonly Cause[] {
  const workload = object as WorkloadFields;
  const children = childCauses(object, context);
  const bad = withQuotas(conditionCauses(object), object, context);
  const counted = countCauses(workload);
  const events = withQuotas(
    notSaid(warnings(object, context.objects, context.now), bad),
    object,
    context,
  );
  const deeper = [...events, ...children];
  if (worst([...counted, ...bad]) === 'ok' && worst(children) === 'ok')
    return [...(counted.length > 0 ? counted : [cause('ok', 'nothing is wrong')]), ...bad];
  const [main, ...others] = [...counted.filter(({ severity }) => severity !== 'ok'), ...bad];
  if (main === undefined) return [...counted, ...deeper];
  // The causes that keep its pods from running explain all that the workload says about itself: its conditions are
  // symptoms.
  const symptoms = worst(deeper) === 'ok' ? others : others.map(asInfo);
  return [
    cause(main.severity, main.text, { ...main, causes: [...main.causes, ...deeper] }),
    ...symptoms,
  ];
}

/** Adds the state of a quota to the causes that it has rejected something. */
const withQuotas = (
  causes: readonly Cause[],
  { metadata: { namespace = '' } }: KubeObject,
  { objects }: Context,
): readonly Cause[] =>
  causes.map((each) => {
    const quotas = quotaBehind(each.text, namespace, objects);
    return quotas.length === 0
      ? each
      : cause(each.severity, each.text, { ...each, causes: [...each.causes, ...quotas] });
  });

function countCauses({ kind, metadata, spec = {}, status = {} }: WorkloadFields): readonly Cause[] {
  const causes: Cause[] = [];
  const { generation = 0 } = metadata;
  if ((status.observedGeneration ?? generation) < generation)
    causes.push(
      cause('waiting', 'its controller has not seen the last change yet', {
        source: 'status.observedGeneration',
      }),
    );
  if (spec.paused) causes.push(cause('waiting', 'is paused', { source: 'spec.paused' }));
  if (spec.suspend) causes.push(cause('waiting', 'is suspended', { source: 'spec.suspend' }));
  if (kind === 'Job') return [...causes, ...jobCauses({ metadata, spec, status })];
  if (kind === 'CronJob') return causes;
  const daemons = kind === 'DaemonSet';
  const wanted = daemons ? (status.desiredNumberScheduled ?? 0) : (spec.replicas ?? 1);
  const ready = (daemons ? status.numberReady : status.readyReplicas) ?? 0;
  const present = daemons ? wanted : (status.replicas ?? 0);
  const counted = `${ready} of ${wanted} pods are ready`;
  if (daemons && wanted === 0)
    causes.push(cause('info', 'no node fits its pods', { source: 'status' }));
  else if (present < wanted)
    causes.push(cause('problem', `${counted}, ${present} exist`, { source: 'status' }));
  else if (ready < wanted) causes.push(cause('problem', counted, { source: 'status' }));
  else causes.push(cause('ok', wanted === 0 ? 'wants no pods' : counted, { source: 'status' }));
  return causes;
}

function jobCauses({ spec = {}, status = {} }: WorkloadFields): readonly Cause[] {
  const { succeeded = 0, failed = 0, active = 0 } = status;
  const wanted = spec.completions ?? spec.parallelism ?? 1;
  const text = `${succeeded} of ${wanted} pods have succeeded, ${failed} failed, ${active} run`;
  return [cause(succeeded >= wanted ? 'ok' : 'waiting', text, { source: 'status' })];
}

/** Returns the causes for conditions that are problems. */
export function conditionCauses(object: KubeObject): readonly Cause[] {
  return conditionsOf(object).flatMap((condition) =>
    conditionSeverity(condition) === 'problem'
      ? [cause('problem', conditionText(condition), { source: `condition ${condition.type}` })]
      : [],
  );
}

/** Reports whether an object is an old ReplicaSet without pods, which does not matter. */
function isIdle(object: KubeObject): boolean {
  const { kind, spec, status } = object as WorkloadFields;
  return kind === 'ReplicaSet' && spec?.replicas === 0 && (status?.replicas ?? 0) === 0;
}

/** Explains owned objects that have problems. Pods with the same cause are one. */
export function childCauses(object: KubeObject, context: Context): readonly Cause[] {
  const children = context.objects
    .ownedBy(object.metadata.uid)
    .filter((child) => !isIdle(child) && child.kind !== 'ControllerRevision');
  const groups = new Map<string, { readonly first: Cause; readonly of: ObjectRef[] }>();
  for (const child of children) {
    const explained = context.descend(child, '');
    if (explained.severity !== 'problem' && explained.severity !== 'waiting') continue;
    const ref = refOf(child);
    const key = `${child.kind} ${fingerprint(explained, child)}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { first: explained, of: [ref] });
    else group.of.push(ref);
  }
  return [...groups.values()].map(({ first, of }) => {
    if (of.length === 1) return first;
    const [ref, ...others] = of;
    const names = others.slice(0, 3).map(({ name }) => name);
    const more = others.length > names.length ? ' …' : '';
    return cause(
      first.severity,
      `${of.length} times the same, first ${refText(ref as ObjectRef)}`,
      {
        source: `also ${names.join(', ')}${more}`,
        causes: [first],
      },
    );
  });
}

/** Returns the text without names, UIDs and addresses of the object, which differ between copies. */
function fingerprint(explained: Cause, object: KubeObject): string {
  const { name = '', uid = '' } = object.metadata;
  const ip = (object as Immutable<Pod>).status?.podIP ?? '';
  const lines: string[] = [];
  const visit = (each: Cause): void => {
    lines.push(`${each.severity} ${each.text}`);
    for (const inner of each.causes) if (inner.severity !== 'info') visit(inner);
  };
  visit(explained);
  let text = lines.join('\n');
  for (const part of [name, uid, ip]) if (part) text = text.replaceAll(part, '…');
  return text.replace(/\d+(\.\d+)?(ms|s|m|h|d)\b|, \d+ times/g, '…');
}
