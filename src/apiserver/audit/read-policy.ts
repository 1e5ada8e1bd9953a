// Reads and validates an audit policy, with upstream's messages.

import { isPlainObject } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { isDNS1123Subdomain } from '#machinery/validation/validation.ts';
import { type AuditPolicy, type AuditRule, type GroupResources, LEVELS, STAGES } from './policy.ts';

const API_VERSION = 'audit.k8s.io/v1';
const POLICY_FIELDS = [
  'apiVersion',
  'kind',
  'metadata',
  'omitManagedFields',
  'omitStages',
  'rules',
] as const;
const RULE_FIELDS = [
  'level',
  'namespaces',
  'nonResourceURLs',
  'omitManagedFields',
  'omitStages',
  'resources',
  'userGroups',
  'users',
  'verbs',
] as const;
const GROUP_FIELDS = ['group', 'resourceNames', 'resources'] as const;

/** The policy, and what in it is ignored because no field has its name. */
export interface ReadPolicy {
  readonly policy: AuditPolicy;
  readonly unknownFields: readonly string[];
}

/**
 * Reads the content of a policy file, which is parsed YAML or JSON. Throws FieldErrorsError with
 * every error, or Error for a content that is no policy.
 */
export function readAuditPolicy(content: unknown): ReadPolicy {
  if (!isPlainObject(content)) throw new Error('the file contains no object');
  const { apiVersion = '', kind = '' } = content;
  if (kind !== 'Policy' || apiVersion !== API_VERSION)
    throw new Error(
      `unknown group version field ${String(apiVersion)}, Kind=${String(kind)} in policy: it ` +
        `must be ${API_VERSION}, Kind=Policy`,
    );
  const reader = new Reader();
  const policy = reader.policy(content);
  if (reader.errors.length > 0) throw new field.FieldErrorsError(reader.errors);
  if (policy.rules.length === 0) throw new Error('loaded illegal policy with 0 rules');
  return { policy, unknownFields: reader.unknownFields };
}

type Fields<Name extends string> = Readonly<Partial<Record<Name, unknown>>>;

class Reader {
  readonly errors: FieldErrorList = [];
  readonly unknownFields: string[] = [];

  policy(content: Readonly<Record<string, unknown>>): AuditPolicy {
    const fields = this.#fields(content, POLICY_FIELDS, undefined);
    return {
      omitStages: this.#stages(fields.omitStages, field.path('omitStages')),
      omitManagedFields:
        this.#boolean(fields.omitManagedFields, field.path('omitManagedFields')) ?? false,
      rules: this.#list(fields.rules, field.path('rules'), (item, at) => this.#rule(item, at)),
    };
  }

  #rule(item: unknown, at: FieldPath): AuditRule {
    const fields = this.#fields(item, RULE_FIELDS, at);
    const urls = at.child('nonResourceURLs');
    const omitManagedFields = this.#boolean(
      fields.omitManagedFields,
      at.child('omitManagedFields'),
    );
    const rule: AuditRule = {
      level: this.#level(fields.level, at.child('level')),
      users: this.#texts(fields.users, at.child('users')),
      userGroups: this.#texts(fields.userGroups, at.child('userGroups')),
      verbs: this.#texts(fields.verbs, at.child('verbs')),
      namespaces: this.#texts(fields.namespaces, at.child('namespaces')),
      nonResourceURLs: this.#texts(fields.nonResourceURLs, urls),
      resources: this.#list(fields.resources, at.child('resources'), (each, where) =>
        this.#group(each, where, at.child('resources')),
      ),
      omitStages: this.#stages(fields.omitStages, at.child('omitStages')),
      ...(omitManagedFields !== undefined && { omitManagedFields }),
    };
    this.#checkUrls(rule, urls);
    return rule;
  }

  /** `shared`: the path that upstream names in errors, which has no index. */
  #group(item: unknown, at: FieldPath, shared: FieldPath): GroupResources {
    const fields = this.#fields(item, GROUP_FIELDS, at);
    const group = this.#text(fields.group ?? '', at.child('group'));
    const resources = this.#texts(fields.resources, at.child('resources'));
    const resourceNames = this.#texts(fields.resourceNames, at.child('resourceNames'));
    const problems = group === '' || group === '*' ? [] : isDNS1123Subdomain(group);
    if (problems.length > 0)
      this.errors.push(field.invalid(shared.child('group'), group, problems.join(',')));
    if (resourceNames.length > 0 && resources.length === 0)
      this.errors.push(
        field.invalid(
          shared.child('resourceNames'),
          resourceNames,
          'using resourceNames requires at least one resource',
        ),
      );
    return { group, resources, resourceNames };
  }

  #checkUrls({ nonResourceURLs, resources, namespaces }: AuditRule, at: FieldPath): void {
    for (const [index, url] of nonResourceURLs.entries()) {
      if (url === '*') continue;
      if (!url.startsWith('/')) {
        const detail = "non-resource URL rules must begin with a '/' character";
        this.errors.push(field.invalid(at.index(index), url, detail));
      }
      if (url.slice(0, -1).includes('*')) {
        const detail = "non-resource URL wildcards '*' must be the final character of the rule";
        this.errors.push(field.invalid(at.index(index), url, detail));
      }
    }
    if (nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0)) {
      const detail = 'rules cannot apply to both regular resources and non-resource URLs';
      this.errors.push(field.invalid(at, nonResourceURLs, detail));
    }
  }

  #level(value: unknown, at: FieldPath): AuditRule['level'] {
    const text = this.#text(value ?? '', at);
    const level = LEVELS.find((each) => each === text);
    if (text === '') this.errors.push(field.required(at));
    else if (level === undefined) this.errors.push(field.notSupported(at, text, LEVELS));
    return level ?? 'None';
  }

  #stages(value: unknown, at: FieldPath): AuditPolicy['omitStages'] {
    return this.#texts(value, at).flatMap((text, index) => {
      const stage = STAGES.find((each) => each === text);
      if (stage !== undefined) return [stage];
      this.errors.push(
        field.invalid(at.index(index), text, `allowed stages are ${STAGES.join(',')}`),
      );
      return [];
    });
  }

  #texts(value: unknown, at: FieldPath): readonly string[] {
    return this.#list(value, at, (item, where) => this.#text(item, where));
  }

  #text(value: unknown, at: FieldPath): string {
    if (typeof value === 'string') return value;
    this.errors.push(field.typeInvalid(at, value, 'must be a string'));
    return '';
  }

  #boolean(value: unknown, at: FieldPath): boolean | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'boolean') return value;
    this.errors.push(field.typeInvalid(at, value, 'must be true or false'));
    return undefined;
  }

  #list<T>(value: unknown, at: FieldPath, read: (item: unknown, at: FieldPath) => T): readonly T[] {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value.map((item, index) => read(item, at.index(index)));
    this.errors.push(field.typeInvalid(at, value, 'must be a list'));
    return [];
  }

  #fields<Name extends string>(
    value: unknown,
    names: readonly Name[],
    at: FieldPath | undefined,
  ): Fields<Name> {
    if (!isPlainObject(value)) {
      this.errors.push(field.typeInvalid(at, value, 'must be an object'));
      return {} as Fields<Name>;
    }
    for (const name of Object.keys(value))
      if (!(names as readonly string[]).includes(name))
        this.unknownFields.push(at === undefined ? name : at.child(name).toString());
    return value as Fields<Name>;
  }
}
