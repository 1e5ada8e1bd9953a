import { expect, test } from 'vitest';
import { attributesOf } from './attributes.ts';

test('the attributes of an image', () => {
  expect(attributesOf({}, 'directory')).toEqual({});
  expect(attributesOf({ readAheadKiB: '0' }, 'image')).toEqual({ readAheadKiB: 0 });
  expect(attributesOf({ readAheadKiB: '65536' }, 'image')).toEqual({ readAheadKiB: 65_536 });
});

test.each([
  [{ speed: 'high' }, 'image', 'the mutable parameter speed does not exist'],
  [{ readAheadKiB: '128' }, 'directory', 'readAheadKiB is for volumes with backing: image only'],
  [{ readAheadKiB: '-1' }, 'image', 'must be a number from 0 to 65536'],
  [{ readAheadKiB: '65537' }, 'image', 'must be a number from 0 to 65536'],
  [{ readAheadKiB: '1e3' }, 'image', 'must be a number from 0 to 65536'],
  [{ readAheadKiB: '' }, 'image', 'must be a number from 0 to 65536'],
] as const)('%j of a volume with backing %s is rejected', (parameters, backing, message) => {
  expect(() => attributesOf(parameters, backing)).toThrow(message);
});
