// Conversion between the versions of a custom resource.

import type { ObjectConverter } from '#apiserver/registry/object-converter.ts';
import type { CustomResource } from '../description.ts';
import { noConversion } from './none.ts';

export function converterOf(_resource: CustomResource): ObjectConverter {
  return noConversion;
}
