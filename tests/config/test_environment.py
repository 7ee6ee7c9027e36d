from toolpick.config.environment import inherited

ENVIRON = {
    "PATH": "/bin",
    "HOME": "/root",
    "LC_ALL": "C",
    "XDG_RUNTIME_DIR": "/run/user/0",
    "https_proxy": "http://p",
    "HTTPS_PROXY": "http://p",
    "SSL_CERT_FILE": "/ca.pem",
    "SYSTEMROOT": "C:\\Windows",
    "SHELL": "() { :; }",
    "FUNC": "() { :; }",
    "DOCS_TOKEN": "s3cret",
    "TOOLPICK_QUERY": "q",
    "PYTHONPATH": "/x",
}


def test_a_server_inherits_what_programs_need_and_no_secret() -> None:
    assert inherited(ENVIRON) == {
        "PATH": "/bin",
        "HOME": "/root",
        "LC_ALL": "C",
        "XDG_RUNTIME_DIR": "/run/user/0",
        "https_proxy": "http://p",
        "HTTPS_PROXY": "http://p",
        "SSL_CERT_FILE": "/ca.pem",
        "SYSTEMROOT": "C:\\Windows",
    }


def test_what_the_user_names_is_inherited_as_it_is() -> None:
    extra = inherited(ENVIRON, ("PYTHONPATH", "FUNC", "NOT_SET"))

    assert extra.items() - inherited(ENVIRON).items() == {
        ("PYTHONPATH", "/x"),
        ("FUNC", "() { :; }"),
    }
