// The verb create.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { nextTurn } from '#machinery/turn.ts';
import type { CreateOptions } from '../../registry/rest.ts';
import type { ApiRequest, ApiResponse } from '../../request.ts';
import { negotiate } from '../negotiation.ts';
import { parseWriteQuery } from '../query-options.ts';
import { notServed } from '../read.ts';
import { objectResponse } from '../representation.ts';
import { type Scope, ScopedContext } from '../scope.ts';
import { checkedMetadata, withoutDuplicateOwners } from './admitted-metadata.ts';
import { smallerIfTooLarge } from './large-objects.ts';
import { withNamespace, withoutDeletion } from './request-object.ts';
import { Write } from './write.ts';

export async function handleCreate(scope: Scope, request: ApiRequest): Promise<ApiResponse> {
  const { rest, codec, services } = scope;
  if (rest.create === undefined) throw notServed();
  const negotiated = negotiate(request, {
    transforms: true,
    tables: rest.get !== undefined,
    collection: true,
    codec,
  });
  const query = parseWriteQuery(request.query, 'CreateOptions');
  const write = new Write(scope, request, query);
  const wanted = await write.receive();
  const { large } = wanted;
  const placed = withoutDeletion(withNamespace(scope, request, wanted.object));
  const given = withoutDuplicateOwners(placed, request.warnings, false);
  const owned = await write.owned(undefined, { ...wanted, object: given });
  if (large) await nextTurn();
  // The name in the path of a subresource is the parent's.
  const parent = scope.subresource === '' ? '' : request.info.name;
  const givenName = parent === '' ? (owned.metadata.name ?? '') : parent;
  const admitted = await services.admission.admit(write.attributes('CREATE', givenName, owned));
  const checked = checkedMetadata(owned, admitted, request.warnings);
  // A review is not stored, and its rules do not expect empty values.
  const object = rest.get === undefined ? codec.wireForm(checked) : checked;
  if (large) await nextTurn();
  const options: CreateOptions = {
    dryRun: query.dryRun,
    fieldManager: query.fieldManager,
    storedForm: (admittedObject) => codec.storedForm(admittedObject),
    large,
    validate: (value) => {
      const candidate = value as KubeObject;
      // A generated name is final by now.
      const name = givenName === '' ? (candidate.metadata.name ?? '') : givenName;
      return write.validate('CREATE', name, candidate, large);
    },
  };
  const create = rest.create.bind(rest);
  const created = await smallerIfTooLarge((smaller) =>
    create(new ScopedContext(scope, request), parent, smaller(object), options),
  );
  return objectResponse(scope, request, negotiated, created, scope.createCode);
}
