//! Making certificates.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use time::{Duration, OffsetDateTime};

/// The name of an authority. It is always the same, so that what it signed later names it as what it signed before.
const NAME: &str = "Edison private authority";

/// The validity of an authority, years.
const YEARS_OF_AUTHORITY: i64 = 10;
/// The validity of what an authority signs, years.
const YEARS: i64 = 2;

/// A certificate and its key, in PEM.
pub(super) struct IssuedCertificate {
    pub(super) certificate: String,
    pub(super) key: String,
}

/// A new authority.
pub(super) fn authority() -> Result<IssuedCertificate, String> {
    let key = KeyPair::generate().map_err(describe_error)?;
    let params = params_of_authority()?;
    let certificate = params.self_signed(&key).map_err(describe_error)?;
    Ok(IssuedCertificate { certificate: certificate.pem(), key: key.serialize_pem() })
}

fn params_of_authority() -> Result<CertificateParams, String> {
    let mut params = params(NAME, &[], YEARS_OF_AUTHORITY)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params)
}

/// Returns the parameters that all certificates have. They are valid from an hour before now: clocks of other machines may be late.
fn params(name: &str, hosts: &[String], years: i64) -> Result<CertificateParams, String> {
    let mut params = CertificateParams::new(hosts).map_err(describe_error)?;
    params.distinguished_name = Default::default();
    params.distinguished_name.push(DnType::CommonName, name);
    let now = OffsetDateTime::now_utc();
    params.not_before = now - Duration::hours(1);
    params.not_after = now + Duration::days(years * 365);
    Ok(params)
}

/// An authority that signs certificates.
pub(super) struct Authority(Issuer<'static, KeyPair>);

impl Authority {
    /// Reads an authority from the texts of its files.
    pub(super) fn read(certificate: &[u8], key: &[u8]) -> Result<Self, String> {
        let certificate = CertificateDer::from_pem_slice(certificate)
            .map_err(|error| format!("this is no certificate: {error}"))?;
        let key = std::str::from_utf8(key).map_err(describe_error)?;
        let key = KeyPair::from_pem(key).map_err(|error| format!("ca.key beside it is no key: {error}"))?;
        // What it signs would be of no use with another key, or another name.
        if !contains(&certificate, &key.subject_public_key_info()) {
            return Err("ca.key beside it is the key of another authority".to_owned());
        }
        if !contains(&certificate, NAME.as_bytes()) {
            return Err(
                "this authority was not made by edison authority: sign certificates as it does its own"
                    .to_owned(),
            );
        }
        Ok(Self(Issuer::new(params_of_authority()?, key)))
    }

    /// A certificate of a server, which these names reach.
    pub(super) fn server(&self, name: &str, hosts: &[String]) -> Result<IssuedCertificate, String> {
        self.sign(name, hosts, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A certificate of who connects.
    pub(super) fn client(&self, name: &str) -> Result<IssuedCertificate, String> {
        self.sign(name, &[], ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn sign(
        &self,
        name: &str,
        hosts: &[String],
        usage: ExtendedKeyUsagePurpose,
    ) -> Result<IssuedCertificate, String> {
        let mut params = params(name, hosts, YEARS)?;
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        params.is_ca = IsCa::ExplicitNoCa;
        let key = KeyPair::generate().map_err(describe_error)?;
        let certificate = params.signed_by(&key, &self.0).map_err(describe_error)?;
        Ok(IssuedCertificate { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

fn contains(certificate: &[u8], part: &[u8]) -> bool {
    certificate.windows(part.len()).any(|window| window == part)
}

fn describe_error(error: impl std::fmt::Display) -> String {
    error.to_string()
}
