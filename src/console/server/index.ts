// The server's part of the web console.

export { Console, type ConsoleConfig } from './console.ts';
export type { ClusterControls, ConsoleFeatures } from './features.ts';
export type { ConsoleServices } from './http.ts';
export type { OidcClient } from './session/oidc/sign-in.ts';
export { COOKIE } from './session/cookie.ts';
export { SESSION_PATH } from './session/session-paths.ts';
export { CONSOLE_PERMISSIONS, grantConsolePermissions } from './permissions.ts';
