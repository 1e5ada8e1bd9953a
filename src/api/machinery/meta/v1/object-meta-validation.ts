// Validates the metadata of objects: the same rules for every kind, and for embedded objects. Only
// the rules of names differ.

import type { KubeObject } from './index.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';

/** The maximum size of all annotations together, keys included. */
const MAX_ANNOTATIONS_BYTES = 256 * 1024;

type Metadata = KubeObject['metadata'];

/** The paths of errors. Paths in whole objects are created once. */
export class MetadataPaths {
  readonly root: FieldPath;
  readonly name: FieldPath;
  readonly generateName: FieldPath;
  readonly namespace: FieldPath;
  readonly labels: FieldPath;
  readonly annotations: FieldPath;
  readonly ownerReferences: FieldPath;
  readonly finalizers: FieldPath;

  constructor(root: FieldPath) {
    this.root = root;
    this.name = root.child('name');
    this.generateName = root.child('generateName');
    this.namespace = root.child('namespace');
    this.labels = root.child('labels');
    this.annotations = root.child('annotations');
    this.ownerReferences = root.child('ownerReferences');
    this.finalizers = root.child('finalizers');
  }
}

export interface NameRules {
  /**
   * Validates a name. `object`: the whole object, if available: the names of some kinds depend on
   * other fields.
   */
  validateName?(name: string, prefix: boolean, object?: unknown): readonly string[];
  readonly anyFinalizer?: boolean;
  readonly checksNameOnUpdate?: boolean;
}

/** Validates the metadata of a new object. */
export function validateObjectMeta(
  metadata: Metadata,
  namespaced: boolean,
  rules: NameRules,
  at: MetadataPaths,
  object?: unknown,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const name = metadata.name ?? '';
  errors.push(...validateGenerateName(metadata.generateName ?? '', rules, at, object));
  if (name === '') errors.push(field.required(at.name, 'name or generateName is required'));
  else
    for (const problem of nameProblems(name, false, rules, object))
      errors.push(field.invalid(at.name, name, problem));
  errors.push(
    ...validateNamespace(metadata.namespace ?? '', namespaced, at),
    ...validateCommon(metadata, rules, at),
  );
  return errors;
}

export function validateGenerateName(
  generateName: string,
  rules: NameRules,
  at: MetadataPaths,
  object?: unknown,
): FieldErrorList {
  if (generateName === '') return [];
  return nameProblems(generateName, true, rules, object).map((problem) =>
    field.invalid(at.generateName, generateName, problem),
  );
}

function nameProblems(
  name: string,
  prefix: boolean,
  rules: NameRules,
  object: unknown,
): readonly string[] {
  if (rules.validateName !== undefined) return rules.validateName(name, prefix, object);
  return subdomainName(name, prefix);
}

/**
 * Validates a name by the rule of most kinds. A prefix may end in a dash, since more text follows.
 */
export function subdomainName(name: string, prefix: boolean): readonly string[] {
  return validation.isDNS1123Subdomain(prefix ? withoutTrailingDash(name) : name);
}

/** Validates a name that becomes a host name or label (namespaces, services). */
export function labelName(name: string, prefix: boolean): readonly string[] {
  return validation.isDNS1123Label(prefix ? withoutTrailingDash(name) : name);
}

/** Validates a name that only has to be a path segment (roles). */
export function pathSegmentName(name: string, prefix: boolean): readonly string[] {
  if (!prefix && (name === '.' || name === '..')) return [`may not be '${name}'`];
  return ['/', '%']
    .filter((part) => name.includes(part))
    .map((part) => `may not contain '${part}'`);
}

function withoutTrailingDash(name: string): string {
  return name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name;
}

function validateNamespace(
  namespace: string,
  namespaced: boolean,
  { namespace: at }: MetadataPaths,
): FieldErrorList {
  if (!namespaced) return namespace === '' ? [] : [field.forbidden(at, 'not allowed on this type')];
  if (namespace === '') return [field.required(at)];
  return validation
    .isDNS1123Label(namespace)
    .map((problem) => field.invalid(at, namespace, problem));
}

/** Validates the metadata, for creates and updates. */
export function validateCommon(
  metadata: Metadata,
  { anyFinalizer = false }: NameRules,
  at: MetadataPaths,
): FieldErrorList {
  const errors: FieldErrorList = [];
  if (metadata.generation !== undefined && metadata.generation < 0) {
    errors.push(
      field.invalid(
        at.root.child('generation'),
        metadata.generation,
        validation.IS_NEGATIVE_MESSAGE,
      ),
    );
  }
  const { labels, annotations, ownerReferences, finalizers } = metadata;
  if (labels !== undefined) errors.push(...validation.validateLabels(labels, at.labels));
  if (annotations !== undefined) errors.push(...validateAnnotations(annotations, at.annotations));
  if (ownerReferences !== undefined)
    errors.push(...validateOwnerReferences(ownerReferences, at.ownerReferences));
  if (finalizers !== undefined)
    errors.push(...validateFinalizers(finalizers, anyFinalizer, at.finalizers));
  return errors;
}

export function validateAnnotations(
  annotations: Readonly<Record<string, string>>,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  let size = 0;
  for (const [key, value] of Object.entries(annotations)) {
    // Case is ignored here, for compatibility with the first clients.
    for (const problem of validation.isQualifiedName(key.toLowerCase()))
      errors.push(field.invalid(at, key, problem));
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > MAX_ANNOTATIONS_BYTES) errors.push(field.tooLong(at, '', MAX_ANNOTATIONS_BYTES));
  return errors;
}

type OwnerReferences = NonNullable<Metadata['ownerReferences']>;

/** Validates owner references. Errors are reported at the list: upstream has no index here. */
function validateOwnerReferences(references: OwnerReferences, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  let controller: string | undefined;
  for (const { apiVersion, kind, name, uid, controller: isController } of references) {
    const parts = apiVersion.split('/');
    const version = parts.length > 2 ? '' : (parts.at(-1) ?? '');
    if (version === '')
      errors.push(field.invalid(at.child('apiVersion'), apiVersion, 'version must not be empty'));
    for (const [key, value] of Object.entries({ kind, name, uid })) {
      if (value === '') errors.push(field.invalid(at.child(key), value, 'must not be empty'));
    }
    if (apiVersion === 'v1' && kind === 'Event') {
      errors.push(
        field.invalid(
          at,
          { apiVersion, kind, name, uid },
          '/v1, Kind=Event is disallowed from being an owner',
        ),
      );
    }
    if (isController !== true) continue;
    const current = `${kind}/${name}`;
    if (controller !== undefined) {
      const message =
        'Only one reference can have Controller set to true. Found "true" in references for ' +
        `${controller} and ${current}`;
      errors.push(field.invalid(at, references, message));
    } else controller = current;
  }
  return errors;
}

/** Finalizers without a domain that the server itself uses. */
const STANDARD_FINALIZERS: ReadonlySet<string> = new Set([
  'kubernetes',
  'orphan',
  'foregroundDeletion',
]);

function validateFinalizers(
  finalizers: readonly string[],
  anyFinalizer: boolean,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  for (const [index, finalizer] of finalizers.entries()) {
    for (const problem of validation.isQualifiedName(finalizer))
      errors.push(field.invalid(at, finalizer, problem));
    if (!anyFinalizer && !finalizer.includes('/') && !STANDARD_FINALIZERS.has(finalizer)) {
      const message = 'name is neither a standard finalizer name nor is it fully qualified';
      errors.push(field.invalid(at.index(index), finalizer, message));
    }
  }
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    errors.push(
      field.invalid(at, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'),
    );
  }
  return errors;
}
