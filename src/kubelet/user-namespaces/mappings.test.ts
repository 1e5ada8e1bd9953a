import { expect, test } from 'vitest';
import { formatMappings, MappingsFileError, parseMappings } from './mappings.ts';

const mapping = { hostId: 131_072, containerId: 0, length: 65_536 };

test('the file is upstream’s', () => {
  const range = { first: 131_072, length: 65_536 };
  const text =
    '{"uidMappings":[{"hostId":131072,"containerId":0,"length":65536}],' +
    '"gidMappings":[{"hostId":131072,"containerId":0,"length":65536}]}';
  expect(formatMappings(range)).toBe(text);
  expect(parseMappings(text)).toEqual(range);
});

test.each([
  ['{', 'invalid user namespace mappings file: '],
  ['null', 'no more than one mapping allowed.'],
  [{ uidMappings: [], gidMappings: [] }, 'no more than one mapping allowed.'],
  [{ uidMappings: [mapping, mapping], gidMappings: [mapping, mapping] }, 'no more than one'],
  [{ uidMappings: [mapping] }, 'GID and UID mappings should be identical.'],
  [
    { uidMappings: [mapping], gidMappings: [{ ...mapping, hostId: 0 }] },
    'GID and UID mapping should be identical',
  ],
  [
    {
      uidMappings: [{ ...mapping, containerId: 1 }],
      gidMappings: [{ ...mapping, containerId: 1 }],
    },
    'UID 0 must be mapped',
  ],
  [
    { uidMappings: [{ ...mapping, hostId: -1 }], gidMappings: [mapping] },
    'a mapping has three IDs',
  ],
  [{ uidMappings: [{ ...mapping, length: 1e12 }], gidMappings: [mapping] }, 'has three IDs'],
])('%j is rejected', (content, message) => {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  expect(() => parseMappings(text)).toThrow(MappingsFileError);
  expect(() => parseMappings(text)).toThrow(message);
});
