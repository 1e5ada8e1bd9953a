// Validation of a pod's resolver configuration, and of the names in its hosts file.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { HostAlias, PodDNSConfig } from './types.ts';
import { invalidEach } from './common.ts';
import { legacyIP } from './ip.ts';

const MAX_NAMESERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_CHARACTERS = 2048;

export function dnsConfig(
  config: PodDNSConfig | undefined,
  policy: string | undefined,
  at: FieldPath,
): FieldErrorList {
  const { nameservers = [], searches = [], options = [] } = config ?? {};
  if (policy === 'None') {
    if (config === undefined)
      return [field.required(at, 'must provide `dnsConfig` when `dnsPolicy` is None')];
    if (nameservers.length === 0) {
      const message = 'must provide at least one DNS nameserver when `dnsPolicy` is None';
      return [field.required(at.child('nameservers'), message)];
    }
  }
  const errors: FieldErrorList = [];
  if (nameservers.length > MAX_NAMESERVERS) {
    errors.push(
      field.invalid(
        at.child('nameservers'),
        nameservers,
        `must not have more than ${MAX_NAMESERVERS} nameservers`,
      ),
    );
  }
  nameservers.forEach((address, index) =>
    errors.push(...legacyIP(address, at.child('nameservers').index(index))),
  );
  if (searches.length > MAX_SEARCHES) {
    errors.push(
      field.invalid(
        at.child('searches'),
        searches,
        `must not have more than ${MAX_SEARCHES} search paths`,
      ),
    );
  }
  if (searches.join(' ').length > MAX_SEARCH_CHARACTERS) {
    const message = `must not have more than ${MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list`;
    errors.push(field.invalid(at.child('searches'), searches, message));
  }
  searches.forEach((search, index) => {
    if (search === '.') return;
    const name = search.endsWith('.') ? search.slice(0, -1) : search;
    errors.push(
      ...invalidEach(
        at.child('searches').index(index),
        name,
        validation.isDNS1123SubdomainWithUnderscore(name),
      ),
    );
  });
  options.forEach(({ name = '' }, index) => {
    if (name === '')
      errors.push(field.required(at.child('options').index(index), 'must not be empty'));
  });
  return errors;
}

export function hostAliases(list: readonly HostAlias[] | undefined, at: FieldPath): FieldErrorList {
  return (list ?? []).flatMap(({ ip, hostnames = [] }, index) => [
    ...legacyIP(ip, at.index(index).child('ip')),
    ...hostnames.flatMap((name, nameIndex) =>
      invalidEach(
        at.index(index).child('hostnames').index(nameIndex),
        name,
        validation.isDNS1123Subdomain(name),
      ),
    ),
  ]);
}
