// Errors of API services.

import { expect, test } from 'vitest';

import { messages } from '#api/testing/manifest.ts';
import { NAME_MESSAGES, rows, variation } from '#api/testing/variation.ts';
import type * as apiregistration from './types.ts';
import { validateAPIService, validateAPIServiceStatus } from './validation.ts';

const service = variation<apiregistration.APIService>('apiregistration/v1.APIService', {
  metadata: { name: 'v1.example.com' },
  spec: {
    group: 'example.com',
    version: 'v1',
    groupPriorityMinimum: 100,
    versionPriority: 10,
    service: { namespace: 'default', name: 's', port: 443 },
  },
});
const local = (spec: object = {}): object => ({ spec: { service: null, ...spec } });
const LABEL_1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', " +
  'start with an alphabetic character, and end with an alphanumeric character (e.g. ' +
  "'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

test.each(
  rows<[change: object, errors: readonly string[]]>([
    [{}, []],
    [local(), []],
    [{ spec: { caBundle: 'YQ==' } }, []],
    [{ spec: { insecureSkipTLSVerify: true } }, []],
    [{ metadata: { name: 'v1.' }, ...local({ group: null }) }, []],
    [
      { metadata: { name: 'v2.' }, ...local({ group: null, version: 'v2' }) },
      ['spec.group: Required value: only v1 may have an empty group and it better be legacy kube'],
    ],
    [
      { metadata: { name: 'v2.example.com' } },
      [
        'metadata.name: Invalid value: "v2.example.com": must be `spec.version+"."+spec.group`: "v1.example.com"',
      ],
    ],
    [
      { metadata: { generateName: 'v1.' } },
      [
        'metadata.generateName: Invalid value: "v1.": must be `spec.version+"."+spec.group`: "v1.example.com"',
      ],
    ],
    [
      { metadata: { name: 'v1.Example' }, spec: { group: 'Example' } },
      [`spec.group: Invalid value: "Example": ${NAME_MESSAGES.subdomain}`],
    ],
    [
      { metadata: { name: '1.example.com' }, spec: { version: '1' } },
      [`spec.version: Invalid value: "1": ${LABEL_1035}`],
    ],
    [
      { metadata: { name: '.example.com' }, spec: { version: null } },
      [`spec.version: Invalid value: "": ${LABEL_1035}`],
    ],
    ...[0, -1, 20_001].map((value): [object, string[]] => [
      { spec: { groupPriorityMinimum: value } },
      [`spec.groupPriorityMinimum: Invalid value: ${value}: must be positive and less than 20000`],
    ]),
    [{ spec: { groupPriorityMinimum: 20_000, versionPriority: 1000 } }, []],
    ...[0, -1, 1001].map((value): [object, string[]] => [
      { spec: { versionPriority: value } },
      [`spec.versionPriority: Invalid value: ${value}: must be positive and less than 1000`],
    ]),
    [
      local({ caBundle: 'YQ==' }),
      ['spec.caBundle: Invalid value: "1 bytes": local APIServices may not have a caBundle'],
    ],
    [
      local({ insecureSkipTLSVerify: true }),
      [
        'spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify',
      ],
    ],
    [
      { spec: { service: { port: 0 } } },
      [
        'spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive',
      ],
    ],
    [
      { spec: { service: { namespace: null, name: null } } },
      ['spec.service.namespace: Required value', 'spec.service.name: Required value'],
    ],
    [
      { spec: { insecureSkipTLSVerify: true, caBundle: 'YQ==' } },
      ['spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present'],
    ],
  ]),
)('%s', (_, change, errors) => {
  expect(messages(validateAPIService(service(change)))).toEqual(errors);
});

test.each(
  rows<[conditions: readonly object[], errors: readonly string[]]>([
    [[], []],
    [['True', 'False', 'Unknown'].map((status) => ({ type: status, status })), []],
    [
      [
        { type: 'Available', status: 'True' },
        { type: 'B', status: 'x' },
      ],
      [
        'status.conditions[1].status: Unsupported value: "x": supported values: "True", "False", "Unknown"',
      ],
    ],
  ]),
)('status %s', (_, conditions, errors) => {
  expect(messages(validateAPIServiceStatus(service({ status: { conditions } })))).toEqual(errors);
});
