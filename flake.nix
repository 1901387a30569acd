{
  description = "Times programs on a busy machine as on an idle one";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
      cargo = nixpkgs.lib.importTOML ./Cargo.toml;
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "stillwell";
          version = cargo.workspace.package.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "-p" "stillwell" ];
          # The tests look at the machine: they need /proc, perf events and a compiler.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            $out/bin/stillwell man --dir man
            installManPage man/*.1
            for shell in bash zsh fish; do
              $out/bin/stillwell completions $shell > stillwell.$shell
              installShellCompletion --cmd stillwell --$shell stillwell.$shell
            done
          '';
          meta.mainProgram = "stillwell";
        };
      });
    };
}
