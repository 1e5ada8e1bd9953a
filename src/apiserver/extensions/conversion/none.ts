// The conversion strategy None: only the apiVersion changes.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { ObjectConverter } from '#apiserver/registry/object-converter.ts';

export const noConversion: ObjectConverter = {
  convert: (objects, apiVersion) =>
    objects.map((object): KubeObject =>
      object.apiVersion === apiVersion ? object : { ...object, apiVersion },
    ),
};
