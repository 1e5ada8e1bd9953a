import { describe, expect, test } from 'vitest';

import type { FieldErrorList } from '#machinery/validation/field.ts';
import { NAME_MESSAGES, rows, variation } from '#api/testing/variation.ts';
import type * as authorization from './types.ts';
import {
  validateLocalSubjectAccessReview,
  validateSelfSubjectAccessReview,
  validateSubjectAccessReview,
} from './validation.ts';

const text = (errors: FieldErrorList): string[] => errors.map(String);
const resourceAttributes = { verb: 'list', resource: 'pods' };
const nonResourceAttributes = { verb: 'get', path: '/healthz' };
const review = variation<authorization.SubjectAccessReview>(
  'authorization/v1.SubjectAccessReview',
  {
    spec: { user: 'joe', resourceAttributes },
  },
);
const self = variation<authorization.SelfSubjectAccessReview>(
  'authorization/v1.SelfSubjectAccessReview',
  {
    spec: { resourceAttributes },
  },
);
const local = variation<authorization.LocalSubjectAccessReview>(
  'authorization/v1.LocalSubjectAccessReview',
  {
    metadata: { namespace: 'a' },
    spec: { user: 'joe', resourceAttributes: { ...resourceAttributes, namespace: 'a' } },
  },
);

const BOTH =
  'spec.nonResourceAttributes: Invalid value: {"path":"/healthz","verb":"get"}: cannot be ' +
  'specified in combination with resourceAttributes';
const NEITHER =
  'spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or ' +
  'resourceAttributes must be specified';
const NOBODY = 'spec.user: Invalid value: "": at least one of user or group must be specified';

describe('reviews of the access of a user', () => {
  test.each(
    rows<[change: object, errors: readonly string[]]>([
      [{}, []],
      [{ spec: { resourceAttributes: {} } }, []],
      [
        { spec: { user: null, groups: ['crew'], resourceAttributes: null, nonResourceAttributes } },
        [],
      ],
      [{ spec: { nonResourceAttributes } }, [BOTH]],
      [{ spec: { resourceAttributes: null } }, [NEITHER]],
      [{ spec: { user: null } }, [NOBODY]],
      [{ spec: { user: '', groups: [], resourceAttributes: null } }, [NEITHER, NOBODY]],
      [{ metadata: { name: 'a' } }, ['metadata: Invalid value: {"name":"a"}: must be empty']],
      [
        { metadata: { labels: { a: 'b' } } },
        ['metadata: Invalid value: {"labels":{"a":"b"}}: must be empty'],
      ],
    ]),
  )('%s', (_, change, errors) => {
    expect(text(validateSubjectAccessReview(review(change)))).toEqual(errors);
  });
});

describe('reviews of the own access', () => {
  test.each(
    rows<[change: object, errors: readonly string[]]>([
      [{}, []],
      [{ spec: { resourceAttributes: {} } }, []],
      [{ spec: { resourceAttributes: null, nonResourceAttributes } }, []],
      [{ spec: { nonResourceAttributes } }, [BOTH]],
      [{ spec: { resourceAttributes: null } }, [NEITHER]],
      [
        { metadata: { namespace: 'a' } },
        ['metadata: Invalid value: {"namespace":"a"}: must be empty'],
      ],
    ]),
  )('%s', (_, change, errors) => {
    expect(text(validateSelfSubjectAccessReview(self(change)))).toEqual(errors);
  });
});

describe('reviews of the access in a namespace', () => {
  const other =
    'spec.resourceAttributes.namespace: Invalid value: "b": must match metadata.namespace';
  const path =
    'spec.nonResourceAttributes: Invalid value: {"path":"/healthz","verb":"get"}: disallowed on this kind of request';
  test.each(
    rows<[change: object, errors: readonly string[]]>([
      [{}, []],
      [
        { metadata: { name: 'a' } },
        [
          'metadata: Invalid value: {"name":"a","namespace":"a"}: must be empty except for namespace',
        ],
      ],
      [{ spec: { resourceAttributes: { namespace: 'b' } } }, [other]],
      [
        { spec: { resourceAttributes: { namespace: null } } },
        ['spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace'],
      ],
      [{ spec: { resourceAttributes: null, nonResourceAttributes } }, [path]],
      [{ spec: { nonResourceAttributes } }, [BOTH, path]],
      [{ spec: { resourceAttributes: null, user: null } }, [NEITHER, NOBODY]],
    ]),
  )('%s', (_, change, errors) => {
    expect(text(validateLocalSubjectAccessReview(local(change)))).toEqual(errors);
  });
});

describe('selectors', () => {
  const requirement = { key: 'a', operator: 'In', values: ['b'] };
  const VALUES = "Required value: must be specified when `operator` is 'In' or 'NotIn'";
  const NO_VALUES = "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
  const common: readonly (readonly [selector: object, errors: readonly string[]])[] = [
    [{ rawSelector: 'a=b' }, []],
    [{ rawSelector: 'what is this?' }, []],
    [{ requirements: [requirement, { key: 'a', operator: 'Exists' }] }, []],
    [{ requirements: [{ key: 'a', operator: 'Like', values: ['b'] }] }, []],
    [
      { rawSelector: 'a=b', requirements: [requirement] },
      ['rawSelector: Invalid value: "a=b": may not specified at the same time as requirements'],
    ],
    [{ requirements: [{ key: 'a', operator: 'In' }] }, [`requirements[0].values: ${VALUES}`]],
    [
      { requirements: [requirement, { key: 'a', operator: 'NotIn', values: [] }] },
      [`requirements[1].values: ${VALUES}`],
    ],
    [
      { requirements: [{ ...requirement, operator: 'Exists' }] },
      [`requirements[0].values: ${NO_VALUES}`],
    ],
    [
      { requirements: [{ ...requirement, operator: 'DoesNotExist' }] },
      [`requirements[0].values: ${NO_VALUES}`],
    ],
  ];
  test.each([
    ...rows(
      common.map(
        ([selector, errors]) => [{ fieldSelector: selector }, 'fieldSelector', errors] as const,
      ),
    ),
    ...rows(
      common.map(
        ([selector, errors]) => [{ labelSelector: selector }, 'labelSelector', errors] as const,
      ),
    ),
    ...rows<[attributes: object, name: string, errors: readonly string[]]>([
      [
        { fieldSelector: { requirements: [{ ...requirement, values: ['-'] }] } },
        'fieldSelector',
        [],
      ],
      [
        { fieldSelector: { requirements: [{ ...requirement, key: '' }] } },
        'fieldSelector',
        ['requirements[0].key: Required value: must be specified'],
      ],
      [
        { labelSelector: { requirements: [{ key: '@', operator: 'In', values: ['-'] }] } },
        'labelSelector',
        [
          `requirements[0].key: Invalid value: "@": ${NAME_MESSAGES.namePart}`,
          `requirements[0].values[0]: Invalid value: "-": ${NAME_MESSAGES.labelValue}`,
        ],
      ],
      [
        { fieldSelector: {} },
        'fieldSelector',
        [
          'requirements: Required value: when spec.resourceAttributes.fieldSelector is ' +
            'specified, requirements or rawSelector is required',
        ],
      ],
      [
        { labelSelector: {} },
        'labelSelector',
        [
          'requirements: Required value: when spec.resourceAttributes.labelSelector is ' +
            'specified, requirements or rawSelector is required',
        ],
      ],
    ]),
  ])('%s', (_, change, name, errors) => {
    const expected = errors.map((error) => `spec.resourceAttributes.${name}.${error}`);
    const spec = { resourceAttributes: change };
    expect(text(validateSubjectAccessReview(review({ spec })))).toEqual(expected);
    expect(text(validateSelfSubjectAccessReview(self({ spec })))).toEqual(expected);
    expect(text(validateLocalSubjectAccessReview(local({ spec })))).toEqual(expected);
  });
});
