// The rules for writes of custom objects, through the resource and through its status subresource.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { GroupResource } from '#machinery/apierrors.ts';
import { deepEqual } from '#machinery/deep.ts';
import { runSteps, type Steps } from '#machinery/turn.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import * as field from '#machinery/validation/field.ts';
import type {
  ResourceStrategy,
  StrategyContext,
  SubresourceStrategy,
} from '#apiserver/registry/strategy.ts';
import type { CustomVersion } from '../description.ts';
import type { CustomCodec } from './custom-codec.ts';
import { finalizerWarnings } from './finalizer-warnings.ts';
import { validateScaleSpec, validateScaleStatus } from './scale-validation.ts';
import { withSortedField } from './sorted-field.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface ObjectStrategyConfig {
  readonly codec: CustomCodec;
  readonly version: CustomVersion;
  readonly resource: GroupResource;
  /** Reports whether the definition is being deleted. */
  readonly isTerminating: () => boolean;
}

export function objectStrategy(config: ObjectStrategyConfig): ResourceStrategy<KubeObject> {
  const { codec, resource, isTerminating } = config;
  const { hasStatus, scale } = config.version;
  const scaleErrors = (object: KubeObject): FieldErrorList =>
    scale === undefined
      ? []
      : [...validateScaleSpec(object, scale), ...validateScaleStatus(object, scale)];
  function* validateNew(
    object: KubeObject,
    _: StrategyContext,
    ofMetadata: FieldErrorList,
  ): Steps<FieldErrorList> {
    const prior = scaleErrors(object);
    const options = { prior: [...ofMetadata, ...prior] };
    return [...(yield* codec.structural.validateInSteps(fieldsOf(object), options)), ...prior];
  }
  function* validateChanged(
    object: KubeObject,
    old: KubeObject,
    { request }: StrategyContext,
    ofMetadata: FieldErrorList,
  ): Steps<FieldErrorList> {
    const prior = scaleErrors(object);
    const options = {
      prior: [...ofMetadata, ...prior],
      warn: (text: string) => void request.warnings.push(text),
    };
    return [
      ...(yield* codec.structural.validateUpdateInSteps(fieldsOf(object), fieldsOf(old), options)),
      ...prior,
    ];
  }
  // Upstream stores no status, and sets its default whenever it reads the object.
  const defaultStatus = (): unknown => {
    const draft = codec.emptyObject();
    codec.applyDefaults(draft);
    return draft['status'];
  };
  return {
    // If the status has a subresource, it is the old object's status here.
    generation: contentChanged,
    anyFinalizer: true,
    allowUnconditionalUpdate: false,
    resetFields: hasStatus ? [['status']] : [],
    prepareForCreate(object) {
      if (isTerminating()) {
        const why = 'create not allowed while custom resource definition is terminating';
        throw apierrors.forbidden(resource, object.metadata.name, why);
      }
      return hasStatus ? withSortedField(object, 'status', defaultStatus()) : object;
    },
    validate: (object, context) => runSteps(validateNew(object, context, [])),
    validateInSteps: (...given) => field.boundedSteps(validateNew(...given)),
    warningsOnCreate: (object) => finalizerWarnings(object),
    prepareForUpdate: (object, old) =>
      hasStatus ? withSortedField(object, 'status', fieldsOf(old)['status']) : object,
    validateUpdate: (object, old, context) => runSteps(validateChanged(object, old, context, [])),
    validateUpdateInSteps: (...given) => field.boundedSteps(validateChanged(...given)),
    warningsOnUpdate: (object, old) => finalizerWarnings(object, old),
  };
}

export function statusStrategy(
  codec: CustomCodec,
  { scale }: CustomVersion,
): SubresourceStrategy<KubeObject> {
  function* validateStatus(
    object: KubeObject,
    old: KubeObject,
    { request }: StrategyContext,
    ofMetadata: FieldErrorList,
  ): Steps<FieldErrorList> {
    const prior = scale === undefined ? [] : validateScaleStatus(object, scale);
    const options = {
      prior: [...ofMetadata, ...prior],
      warn: (text: string) => void request.warnings.push(text),
    };
    return [
      ...(yield* codec.structural.validateStatusUpdateInSteps(
        fieldsOf(object),
        fieldsOf(old),
        options,
      )),
      ...prior,
    ];
  }
  return {
    resetFields: [['metadata'], ['spec']],
    // Only the status and its field ownership change.
    prepareForUpdate(object, old) {
      const { managedFields } = object.metadata;
      const { managedFields: _, ...rest } = old.metadata;
      const metadata =
        managedFields === undefined ? rest : withSortedField(rest, 'managedFields', managedFields);
      return withSortedField({ ...old, metadata }, 'status', fieldsOf(object)['status']);
    },
    validateUpdate: (object, old, context) => runSteps(validateStatus(object, old, context, [])),
    validateUpdateInSteps: (...given) => field.boundedSteps(validateStatus(...given)),
  };
}

/** Reports whether anything but the metadata has changed. */
function contentChanged(object: KubeObject, old: KubeObject): boolean {
  const { metadata: _, ...content } = object;
  const { metadata: _before, ...contentBefore } = old;
  return !deepEqual(content, contentBefore);
}

function fieldsOf(object: KubeObject): Fields {
  return object as unknown as Fields;
}
