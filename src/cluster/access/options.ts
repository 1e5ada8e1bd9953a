// The control of access of clusters in a program.

/** Files and names as the flags of kube-apiserver take them: docs/access.md. */
export interface AccessOptions {
  /**
   * The file of an AdmissionConfiguration: settings of admission plugins. Default: plugins have
   * their own defaults.
   */
  readonly admissionControlConfigFile?: string;
  /** Admission plugins that run beside the default ones. Default: none. */
  readonly enableAdmissionPlugins?: readonly string[];
  /** Admission plugins that do not run. Default: none. */
  readonly disableAdmissionPlugins?: readonly string[];
  /** The file of an AuthenticationConfiguration. It excludes the flags of OpenID Connect. */
  readonly authenticationConfig?: string;
  /** The file of an AuthorizationConfiguration. It excludes the other flags of authorization. */
  readonly authorizationConfig?: string;
}
