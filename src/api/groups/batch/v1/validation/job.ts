// Validation of jobs on create and update.

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import {
  labelSelectorAsSelector,
  validateLabelSelector,
  type Selector,
} from '#machinery/selectors/labels.ts';
import * as validation from '#machinery/validation/validation.ts';
import {
  CONTROLLER_UID_LABEL,
  JOB_NAME_LABEL,
  LEGACY_CONTROLLER_UID_LABEL,
  LEGACY_JOB_NAME_LABEL,
} from '../labels.ts';
import { hasCondition } from '../job-conditions.ts';
import { immutableField, nameOf, SPEC } from './common.ts';
import { jobSpec } from './job-spec.ts';
import type { Job, JobSpec } from './types.ts';

export function validateJob(job: Job, old?: Job): FieldErrorList {
  return [
    ...generatedSelector(job, old),
    ...specWithSelector(job.spec, old?.spec),
    ...hostnames(job),
  ];
}

export function validateJobUpdate(job: Job, old: Job): FieldErrorList {
  const { spec } = job;
  const before = old.spec;
  return [
    ...validateJob(job, old),
    // Repeats the errors of the spec, so that there is a cause for each.
    ...specWithSelector(spec, before),
    ...completionsUpdate(spec, before, SPEC.child('completions')),
    ...immutableField(spec.selector, before.selector, SPEC.child('selector')),
    ...templateUpdate(spec, old),
    ...(
      [
        'completionMode',
        'podFailurePolicy',
        'backoffLimitPerIndex',
        'managedBy',
        'successPolicy',
      ] as const
    ).flatMap((name) => immutableField(spec[name], before[name], SPEC.child(name))),
  ];
}

/**
 * Validates that the template has the labels that the server adds, with the job's values: two jobs
 * never share pods. Jobs from before the labels had a prefix need no prefixed ones.
 */
function generatedSelector({ metadata, spec }: Job, old: Job | undefined): FieldErrorList {
  if (spec.manualSelector === true || spec.selector === undefined) return [];
  const { uid } = metadata;
  const name = nameOf(metadata);
  const labels = spec.template.metadata.labels ?? {};
  const at = SPEC.child('template', 'metadata', 'labels');
  const errors: FieldErrorList = uid === '' ? [field.required(field.path('metadata', 'uid'))] : [];
  const before = old?.spec.template.metadata.labels ?? {};
  const prefixed =
    old === undefined ||
    [CONTROLLER_UID_LABEL, JOB_NAME_LABEL].every((key) => Object.hasOwn(before, key));
  const expected = {
    [LEGACY_CONTROLLER_UID_LABEL]: uid,
    [LEGACY_JOB_NAME_LABEL]: name,
    ...(prefixed && { [CONTROLLER_UID_LABEL]: uid, [JOB_NAME_LABEL]: name }),
  };
  for (const [key, value] of Object.entries(expected)) {
    const message = `must be '${value}'`;
    if (!Object.hasOwn(labels, key)) errors.push(field.required(at.key(key), message));
    else if (labels[key] !== value) errors.push(field.invalid(at.key(key), labels, message));
  }
  if (selectorOf(spec)?.matches(expected) === false) {
    errors.push(
      field.invalid(SPEC.child('selector'), spec.selector, '`selector` not auto-generated'),
    );
  }
  return errors;
}

function specWithSelector(spec: JobSpec, old?: JobSpec): FieldErrorList {
  const errors = jobSpec(spec, SPEC, old);
  const at = SPEC.child('selector');
  if (spec.selector === undefined) errors.push(field.required(at));
  else errors.push(...validateLabelSelector(spec.selector, at));
  const { labels } = spec.template.metadata;
  if (selectorOf(spec)?.matches(labels) === false) {
    const path = SPEC.child('template', 'metadata', 'labels');
    errors.push(field.invalid(path, labels ?? null, '`selector` does not match template `labels`'));
  }
  return errors;
}

/** Returns the selector; undefined if it is invalid, which other rules report. */
function selectorOf({ selector }: JobSpec): Selector | undefined {
  try {
    return labelSelectorAsSelector(selector);
  } catch {
    return undefined;
  }
}

/** Validates host names. Each contains the pod's index, so the longest must fit. */
function hostnames({ metadata, spec }: Job): FieldErrorList {
  const { completions = 0 } = spec;
  if (spec.completionMode !== 'Indexed' || completions <= 0) return [];
  const name = nameOf(metadata);
  const longest = `${name}-${completions - 1}`;
  if (validation.isDNS1123Label(longest).length === 0) return [];
  const message = `will not able to create pod with invalid DNS label: ${longest}`;
  return [field.invalid(field.path('metadata', 'name'), name, message)];
}

/**
 * Validates changes of completions: an indexed job can grow and shrink if all its pods run in
 * parallel.
 */
function completionsUpdate(spec: JobSpec, old: JobSpec, at: FieldPath): FieldErrorList {
  const { completions, parallelism } = spec;
  if (spec.completionMode !== 'Indexed') return immutableField(completions, old.completions, at);
  if (completions === old.completions || completions === undefined || completions === parallelism)
    return [];
  return [
    field.invalid(
      at,
      completions,
      `can only be modified in tandem with ${SPEC.child('parallelism').toString()}`,
    ),
  ];
}

/**
 * Validates changes of the template, which is fixed while the job runs. While it is suspended,
 * scheduling fields and container resources may change.
 */
function templateUpdate({ template }: JobSpec, old: Job): FieldErrorList {
  const { suspend, template: before } = old.spec;
  const { startTime, active = 0 } = old.status;
  const resting =
    suspend === true &&
    (startTime === undefined || hasCondition(old.status, 'Suspended')) &&
    active === 0;
  if (!resting) return immutableField(template, before, SPEC.child('template'));
  const allowed = withResourcesOf(template.spec, withDirectivesOf(template, before).spec);
  return immutableField(template.spec, allowed, SPEC.child('template', 'spec'));
}

type Template = JobSpec['template'];

/** Returns the old template with the new labels, annotations and scheduling fields. */
function withDirectivesOf(template: Template, old: Template): Template {
  const { affinity: oldAffinity } = old.spec;
  const { nodeAffinity: _, ...others } = oldAffinity ?? {};
  const { nodeAffinity } = template.spec.affinity ?? {};
  const merged = nodeAffinity === undefined ? others : { ...others, nodeAffinity };
  // An affinity that becomes empty may be removed.
  const affinity =
    template.spec.affinity === undefined && semanticEqual(others, {}) ? undefined : merged;
  const { nodeSelector, tolerations, schedulingGates } = template.spec;
  const { labels, annotations } = template.metadata;
  return {
    ...old,
    metadata: replaced(old.metadata, { labels, annotations }),
    spec: replaced(old.spec, { nodeSelector, tolerations, schedulingGates, affinity }),
  };
}

/**
 * Returns the old spec with the new resources of its containers, if the containers are the same.
 */
function withResourcesOf(spec: Template['spec'], old: Template['spec']): Template['spec'] {
  const put = <C extends Template['spec']['containers']>(list: C, before: C): C =>
    (list.length !== before.length
      ? before
      : before.map((container, index) => {
          const changed = list[index];
          return changed?.name === container.name
            ? { ...container, resources: changed.resources }
            : container;
        })) as C;
  return {
    ...old,
    containers: put(spec.containers, old.containers),
    ...(old.initContainers !== undefined && {
      initContainers: put(spec.initContainers ?? [], old.initContainers),
    }),
  };
}

/** Returns a copy with other values for some fields; undefined removes a field. */
function replaced<T extends object>(
  object: T,
  changes: { readonly [K in keyof T]?: T[K] | undefined },
): T {
  return Object.fromEntries(
    Object.entries({ ...object, ...changes }).filter(([, value]) => value !== undefined),
  ) as T;
}
