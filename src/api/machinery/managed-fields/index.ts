// Managed fields and server-side apply. Start reading at field-manager.ts.

export { entriesOf, withEntries } from './entries.ts';
export type { ManagedObject } from './entries.ts';
export { FieldManager, withoutNewTimes } from './field-manager.ts';
export type { FieldManagerConfig, ManagedKind } from './field-manager.ts';
export { FieldSet } from './field-set.ts';
export type { Path } from './field-set.ts';
export { fieldsOfSet, setOfFields } from './fields-v1.ts';
export { ManagedFieldsError, validateManagedFields } from './managers.ts';
export type { ManagedFieldsEntry } from './managers.ts';
export { merge } from './merge.ts';
export { asList, asMap, deduced, mergeTypeOf } from './merge-type.ts';
export type { MergeType } from './merge-type.ts';
export {
  compareText,
  describePath,
  fieldElement,
  keyElement,
  valueElement,
} from './path-element.ts';
export { parentEntries, scaleEntries } from './scale.ts';
export type { ScaledKind } from './scale.ts';
export type { Versions } from './updater.ts';
export { TypedValueError, validateTyped } from './validate.ts';
