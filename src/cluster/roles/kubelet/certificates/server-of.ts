import type { ServerAccess } from '#client/http/index.ts';

/** Returns the server of an access, without its credentials. */
export function serverOf(access: ServerAccess): ServerAccess {
  const { server, ca, insecureSkipTlsVerify, tlsServerName } = access;
  return {
    server,
    ...(ca !== undefined && { ca }),
    ...(insecureSkipTlsVerify !== undefined && { insecureSkipTlsVerify }),
    ...(tlsServerName !== undefined && { tlsServerName }),
  };
}
