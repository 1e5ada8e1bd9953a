// The types that validation uses.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as apiextensions from '../types.ts';

export type Definition = Immutable<apiextensions.CustomResourceDefinition>;
export type Spec = Definition['spec'];
export type Version = Spec['versions'][number];
export type Status = Definition['status'];
export type Names = Immutable<apiextensions.CustomResourceDefinitionNames>;
export type Subresources = NonNullable<Version['subresources']>;
export type Column = NonNullable<Version['additionalPrinterColumns']>[number];
export type SelectableField = NonNullable<Version['selectableFields']>[number];
export type Conversion = NonNullable<Spec['conversion']>;
export type Schema = Immutable<apiextensions.JSONSchemaProps>;
