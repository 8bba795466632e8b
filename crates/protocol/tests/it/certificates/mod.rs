//! Authorities and certificates, good and bad ones.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};

/// A certificate and its key, in PEM.
#[derive(Clone)]
pub(crate) struct Certificate {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// An authority that its test has made.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) certificate: String,
}

fn params(name: &str, hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts).expect("names");
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = params(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    fn sign(&self, params: &CertificateParams) -> Certificate {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate").pem();
        Certificate { certificate, key: key.serialize_pem() }
    }

    /// Of a server with these names, valid in these years.
    pub(crate) fn server(&self, hosts: &[&str], years: std::ops::Range<i32>) -> Certificate {
        let mut params = params("a server", hosts);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.not_before = date_time_ymd(years.start, 1, 1);
        params.not_after = date_time_ymd(years.end, 1, 1);
        self.sign(&params)
    }

    /// Of who connects, valid until this year.
    pub(crate) fn client(&self, name: &str, until: i32) -> Certificate {
        let mut params = params(name, &[]);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        self.sign(&params)
    }
}
