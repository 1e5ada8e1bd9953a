// The resource ingressclasses.

import { ingressClasses } from '#api/groups/networking/v1/index.ts';
import type * as networking from '#api/groups/networking/v1/index.ts';
import {
  validateIngressClass,
  validateIngressClassUpdate,
} from '#api/groups/networking/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type IngressClass = Immutable<networking.IngressClass>;

const ingressClassStrategy: ResourceStrategy<IngressClass> = {
  checksNameOnUpdate: true,
  generation: true,
  validate: (ingressClass) => validateIngressClass(ingressClass),
  validateUpdate: (ingressClass, old) => validateIngressClassUpdate(ingressClass, old),
};

const ingressClassTable: TableConvertor<IngressClass> = {
  columns: [
    NAME,
    column('Controller', 'The controller that implements ingresses of the class.'),
    column('Parameters', 'The object with parameters for the controller.'),
    AGE,
  ],
  cells: ({ metadata, spec: { controller = '', parameters } }, now) => {
    const group = parameters?.apiGroup === undefined ? '' : `.${parameters.apiGroup}`;
    const reference =
      parameters === undefined ? '<none>' : `${parameters.kind}${group}/${parameters.name}`;
    return [metadata.name, controller, reference, since(metadata.creationTimestamp, now)];
  },
};

export const ingressClassKind = defineKind<IngressClass>({
  type: ingressClasses,
  strategy: ingressClassStrategy,
  table: ingressClassTable,
});
