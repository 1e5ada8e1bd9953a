// The server's authorizer as CEL expressions call it: for the user of the request, or for a service
// account.

import type { ExpressionAuthorizer } from '#cel/index.ts';
import type { Authorizer } from '#apiserver/authorization/authorizer.ts';
import type { UserInfo } from '#apiserver/request.ts';
import { errorMessage } from '#machinery/error-message.ts';

export function expressionAuthorizer(
  authorizer: Authorizer,
  requester: UserInfo,
): ExpressionAuthorizer {
  return {
    async authorize({
      verb,
      path,
      group = '',
      resource = '',
      subresource = '',
      namespace = '',
      name = '',
      ...rest
    }) {
      const { serviceAccount, fieldSelector, labelSelector } = rest;
      const user =
        serviceAccount === undefined
          ? requester
          : accountUser(serviceAccount.namespace, serviceAccount.name);
      try {
        const { decision, reason, error } = await authorizer.authorize({
          user,
          verb,
          isResourceRequest: path === undefined,
          path: path ?? '',
          apiGroup: group,
          apiVersion: path === undefined ? '*' : '',
          resource,
          subresource,
          namespace,
          name,
          ...(fieldSelector !== undefined && { fieldSelector }),
          ...(labelSelector !== undefined && { labelSelector }),
        });
        return { allowed: decision === 'allow', reason, ...(error !== undefined && { error }) };
      } catch (error) {
        return { allowed: false, reason: '', error: errorMessage(error) };
      }
    },
  };
}

function accountUser(namespace: string, name: string): UserInfo {
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    groups: [
      'system:serviceaccounts',
      `system:serviceaccounts:${namespace}`,
      'system:authenticated',
    ],
  };
}
