// Rules of stateful sets.

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import { claimSpec } from '#api/groups/core/v1/validation/claims.ts';
import { invalidEach, nonNegative } from '#api/groups/core/v1/validation/common.ts';
import { validateAnnotations, validatePodTemplate } from '#api/groups/core/v1/validation/index.ts';
import {
  atMostReplicas,
  collisionCountUpdate,
  intOrPercentValue,
  nonNegativeEach,
  notMoreThan100Percent,
  positiveIntOrPercent,
  requiredSelector,
  selectorMismatch,
  selectsTemplate,
  SPEC,
  STATUS,
} from './common.ts';
import type { StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy } from './types.ts';

/** Fields that are not checked, because they are older than the rule or cannot change anyway. */
interface Tolerated {
  readonly serviceName?: boolean;
  readonly podTemplate?: boolean;
  readonly claimTemplates?: boolean;
  /** The template before the update. */
  readonly before?: StatefulSetSpec['template'];
}

export function validateStatefulSet({ spec }: StatefulSet): FieldErrorList {
  return statefulSetSpec(spec, {}, SPEC);
}

const CHANGEABLE = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
] as const;

export function validateStatefulSetUpdate({ spec }: StatefulSet, old: StatefulSet): FieldErrorList {
  const tolerated = { serviceName: true, claimTemplates: true };
  const before = old.spec.template;
  const podTemplate = statefulSetSpec(old.spec, { ...tolerated, before }, SPEC).length > 0;
  const errors = statefulSetSpec(spec, { ...tolerated, podTemplate, before }, SPEC);
  if (!semanticEqual(fixedPart(spec), fixedPart(old.spec))) {
    const names = CHANGEABLE.slice(0, -1).map((name) => `'${name}'`);
    const list = `${names.join(', ')} and 'minReadySeconds'`;
    errors.push(
      field.forbidden(
        SPEC,
        `updates to statefulset spec for fields other than ${list} are forbidden`,
      ),
    );
  }
  return errors;
}

function fixedPart(spec: StatefulSetSpec): Partial<StatefulSetSpec> {
  const fixed: Record<string, unknown> = { ...spec };
  for (const name of CHANGEABLE) delete fixed[name];
  return fixed;
}

function statefulSetSpec(
  spec: StatefulSetSpec,
  tolerated: Tolerated,
  at: FieldPath,
): FieldErrorList {
  const { serviceName, selector } = spec;
  const errors = [
    ...podManagementPolicy(spec.podManagementPolicy, at.child('podManagementPolicy')),
    ...updateStrategy(spec.updateStrategy, at.child('updateStrategy')),
    ...retentionPolicy(spec, at.child('persistentVolumeClaimRetentionPolicy')),
  ];
  if (tolerated.claimTemplates !== true) {
    (spec.volumeClaimTemplates ?? []).forEach((claim, index) => {
      errors.push(
        ...claimSpec(claim.spec, at.child('volumeClaimTemplates').index(index).child('spec')),
      );
    });
  }
  errors.push(
    ...nonNegative(spec.replicas, at.child('replicas')),
    ...nonNegative(spec.minReadySeconds, at.child('minReadySeconds')),
    ...nonNegative(spec.ordinals?.start, at.child('ordinals', 'start')),
  );
  if (tolerated.serviceName !== true && serviceName !== '') {
    errors.push(
      ...invalidEach(at.child('serviceName'), serviceName, validation.isDNS1123Label(serviceName)),
    );
  }
  errors.push(...requiredSelector(selector, 'statefulset', at.child('selector')));
  return [...errors, ...template(spec, tolerated, at)];
}

function podManagementPolicy(policy: string | undefined, at: FieldPath): FieldErrorList {
  if (policy === undefined || policy === '') return [field.required(at)];
  if (policy === 'OrderedReady' || policy === 'Parallel') return [];
  return [field.invalid(at, policy, "must be 'OrderedReady' or 'Parallel'")];
}

function updateStrategy(strategy: StatefulSetUpdateStrategy, at: FieldPath): FieldErrorList {
  const { type, rollingUpdate } = strategy;
  switch (type) {
    case undefined:
      return [field.required(at)];
    case 'OnDelete':
      return rollingUpdate === undefined
        ? []
        : [
            field.invalid(
              at.child('rollingUpdate'),
              rollingUpdate,
              "only allowed for updateStrategy 'RollingUpdate'",
            ),
          ];
    case 'RollingUpdate':
      return rollingUpdate === undefined
        ? []
        : rollingUpdateOf(rollingUpdate, at.child('rollingUpdate'));
    default:
      return [field.invalid(at, strategy, "must be 'RollingUpdate' or 'OnDelete'")];
  }
}

function rollingUpdateOf(
  { partition, maxUnavailable }: NonNullable<StatefulSetUpdateStrategy['rollingUpdate']>,
  at: FieldPath,
): FieldErrorList {
  const errors = nonNegative(partition, at.child('partition'));
  if (maxUnavailable === undefined) return errors;
  const path = at.child('maxUnavailable');
  errors.push(...positiveIntOrPercent(maxUnavailable, path));
  if (intOrPercentValue(maxUnavailable) === 0)
    errors.push(field.invalid(path, maxUnavailable, 'cannot be 0'));
  return [...errors, ...notMoreThan100Percent(maxUnavailable, path)];
}

const RETENTION_POLICIES = ['Retain', 'Delete'];

function retentionPolicy(
  { persistentVolumeClaimRetentionPolicy: policy }: StatefulSetSpec,
  at: FieldPath,
): FieldErrorList {
  if (policy === undefined) return [];
  return (['whenDeleted', 'whenScaled'] as const).flatMap((name) => {
    const value = policy[name] ?? '';
    return RETENTION_POLICIES.includes(value)
      ? []
      : [field.notSupported(at.child(name), value, RETENTION_POLICIES)];
  });
}

function template(
  { selector, template: pods, volumeClaimTemplates }: StatefulSetSpec,
  tolerated: Tolerated,
  at: FieldPath,
) {
  const path = at.child('template');
  const { labels, annotations } = pods.metadata;
  const errors: FieldErrorList = [];
  const matches = selectsTemplate(selector, labels);
  if (matches === undefined) errors.push(field.invalid(at.child('selector'), selector, ''));
  else {
    if (!matches) errors.push(...selectorMismatch(labels, path));
    if (tolerated.podTemplate === true) {
      errors.push(
        ...validation.validateLabels(labels, path.child('labels')),
        ...validateAnnotations(annotations, path.child('annotations')),
      );
    } else
      errors.push(
        ...validatePodTemplate(asInPods(pods, volumeClaimTemplates), path, tolerated.before),
      );
  }
  const { restartPolicy = '', activeDeadlineSeconds } = pods.spec;
  const specPath = path.child('spec');
  if (restartPolicy !== 'Always') {
    errors.push(field.notSupported(specPath.child('restartPolicy'), restartPolicy, ['Always']));
  }
  if (activeDeadlineSeconds !== undefined) {
    const message = 'activeDeadlineSeconds in StatefulSet is not Supported';
    errors.push(field.forbidden(specPath.child('activeDeadlineSeconds'), message));
  }
  return errors;
}

/**
 * Returns the template in the form of its pods: with a host name, and with each claim as a volume
 * of the same name before the template's own volumes.
 */
function asInPods(
  template: StatefulSetSpec['template'],
  claims: StatefulSetSpec['volumeClaimTemplates'],
): StatefulSetSpec['template'] {
  const { hostname: _, subdomain: __, ...spec } = template.spec;
  const pods = { ...template, spec };
  // A claim without a name creates a volume whose missing name is an error.
  const names = new Set(
    (claims ?? []).map(({ metadata }) => (metadata as { readonly name?: string }).name ?? ''),
  );
  if (names.size === 0) return pods;
  const volumes = [
    ...[...names].map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
    ...(pods.spec.volumes ?? []).filter(({ name }) => !names.has(name)),
  ];
  return { ...pods, spec: { ...pods.spec, volumes } };
}

const COUNTS = [
  'replicas',
  'readyReplicas',
  'currentReplicas',
  'updatedReplicas',
  'availableReplicas',
  'observedGeneration',
  'collisionCount',
] as const;

export function validateStatefulSetStatusUpdate(
  { status }: StatefulSet,
  old: StatefulSet,
): FieldErrorList {
  const errors = [
    ...nonNegativeEach(status, COUNTS, STATUS),
    ...atMostReplicas(
      status,
      ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'],
      STATUS,
    ),
  ];
  if (status.availableReplicas > (status.readyReplicas ?? 0)) {
    const at = STATUS.child('availableReplicas');
    errors.push(
      field.invalid(at, status.availableReplicas, 'cannot be greater than status.readyReplicas'),
    );
  }
  return [
    ...errors,
    ...collisionCountUpdate(status.collisionCount, old.status.collisionCount, STATUS),
  ];
}
